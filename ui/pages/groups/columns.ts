import { html, nothing, type TemplateResult } from 'lit'
import type { Connections } from '../../api/connections.ts'
import { type GroupRecord, refOf } from '../../api/types.ts'
import { href } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import type { Column } from '../../components/lists/table.ts'
import { type Jack, jackField } from '../../components/patch-bay/jacks.ts'
import type { Bay } from '../../components/patch-bay/model.ts'
import { warningText } from '../../components/sharing/group-warning.ts'
import { ownerNote } from '../../components/sharing/roles.ts'
import { tagsOf } from '../../components/tags.ts'
import { formatCount, formatNumber, UNKNOWN } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'
import '../../components/copy.ts'

/** A group with its connections, if known. */
export interface GroupRow {
  readonly group: GroupRecord
  readonly bay: Bay | undefined
  readonly links: Connections | undefined
}

/** The path of a group's page. */
export function groupPath(group: GroupRecord): string {
  return `/groups/${encodeURIComponent(refOf(group))}`
}

/** Columns of the list of groups. */
export function groupColumns(): Column<GroupRow>[] {
  return [
    { id: 'name', head: t('Name'), sort: ({ group }) => group.name, cell: nameCell },
    { id: 'endpoint', head: t('Endpoint'), class: 'x', cell: ({ group }) => endpointCell(group) },
    {
      id: 'members',
      head: t('Members'),
      sort: ({ group }) => group.status.total,
      cell: row => jackField(jacks(row)),
    },
    {
      id: 'tools',
      head: t('Tools'),
      num: true,
      class: 'x',
      sort: ({ group }) => group.tools,
      cell: ({ group }) => formatCount(group.tools),
    },
    {
      id: 'tokens',
      head: t('Tokens'),
      num: true,
      label: t('Tokens'),
      sort: ({ group }) => group.tokens,
      cell: ({ group }) => formatNumber(group.tokens, 0),
    },
    { id: 'used', head: t('In use by'), class: 'x nw', cell: usedCell },
    {
      id: 'calls',
      head: t('Calls/min'),
      num: true,
      class: 'x',
      sort: rate,
      cell: row =>
        html`<span title=${t('Calls a minute at the address of the group in the last 5 minutes, including those that reached no server')}>${formatNumber(rate(row))}</span>`,
    },
    {
      id: 'warnings',
      head: t('Warnings'),
      class: 'full c-warning',
      sort: ({ group }) => group.warnings.length,
      cell: ({ group }) => warningCell(group),
    },
    {
      id: 'connect',
      head: t('Actions'),
      quiet: true,
      class: 'end',
      cell: ({ group }) =>
        html`<a class="btn sm" href=${href(groupPath(group), { connect: 'claude-desktop' })} aria-label=${t('Connect a client to {name}', { name: group.name })}>${t('Connect')}</a>`,
    },
  ]
}

function nameCell({ group }: GroupRow): TemplateResult {
  const owner = ownerNote(group, session.user?.name)
  return html`<a class="nm" href=${href(groupPath(group))}>${group.name}</a>${owner === undefined ? nothing : html` <span class="tag">${owner}</span>`}${tagsOf(group.tags)}${group.description ? html`<span class="cellsub">${group.description}</span>` : nothing}`
}

function endpointCell({ endpoint, name }: GroupRecord): TemplateResult {
  return html`<div class="copyline gep"><span class="cut" title=${endpoint}>${new URL(endpoint).pathname}</span><pb-copy .text=${endpoint} label=${t('Copy the endpoint of {name}', { name })}></pb-copy></div>`
}

function jacks({ group, bay }: GroupRow): Jack[] {
  const node = bay?.nodes.get(group.id)
  if (node?.servers && node.servers.length === group.status.total)
    return node.servers.flatMap(id => bay?.nodes.get(id) ?? [])
  const { online, connecting, offline } = group.status
  const of = (count: number, tone: Jack['tone']): Jack[] => Array.from({ length: count }, () => ({ id: '', tone }))
  return [...of(offline, 'bad'), ...of(connecting, 'warn'), ...of(online, 'ok')]
}

function rate({ group, bay }: GroupRow): number {
  return bay?.nodes.get(group.id)?.rate ?? 0
}

function usedCell({ group, links }: GroupRow): unknown {
  const ids = new Set(links?.links.filter(link => link.group === group.id).map(({ client }) => client))
  const clients = links?.clients.filter(({ id }) => ids.has(id)) ?? []
  const [first] = clients
  if (!first)
    return html`<span class="f" title=${t('No client in the last 5 minutes')}>${UNKNOWN}<span class="vh">${t('No client in the last 5 minutes')}</span></span>`
  if (clients.length > 1) return plural(clients.length, '{n} client', '{n} clients')
  const name = first.kind === 'api' ? t('Console and API') : first.name || t('A client')
  return html`${name}${first.key?.label ? html`<span class="cellsub">${first.key.label}</span>` : nothing}`
}

/** The gravest warning of a group in a few words. */
function warningCell({ warnings, status }: GroupRecord): unknown {
  if (status.offline > 0)
    return html`<span class="st bad">${icon('circle-x')}${plural(status.offline, '{n} server offline', '{n} servers offline')}</span>`
  const [first] = warnings
  if (!first) return html`<span class="f">${UNKNOWN}<span class="vh">${t('no warning')}</span></span>`
  const clash = warnings.find(({ code }) => code === 'names_collide')
  const text = clash ? t('names clash') : warningText(first)
  return html`<span class="st warn gwarn" title=${warnings.map(warningText).join('\n')}>${icon('triangle-alert')}<span class="cut">${text}</span></span>`
}
