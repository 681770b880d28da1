import { html, nothing, type TemplateResult } from 'lit'
import { href } from '../../app/router.ts'
import { formatNumber } from '../../text/format.ts'
import { t } from '../../text/t.ts'
import { mark, type Tone } from '../servers/status.ts'
import type { Bay, BayNode } from './model.ts'

interface Row {
  readonly group: BayNode | undefined
  readonly usedBy: string
  readonly server: BayNode | undefined
  readonly rate: number
}

/** The patch bay as a table. `plain`: without links, for screen readers. */
export function bayTable(bay: Bay, plain = false): TemplateResult {
  const link = (node: BayNode): unknown =>
    plain || node.path === undefined ? node.name : html`<a href=${href(node.path)}>${node.name}</a>`
  const table = html`<table class="cards" aria-label=${t('Patch bay, table')}><thead><tr><th scope="col">${t('Group')}</th>
    <th scope="col">${t('Used by')}</th><th scope="col">${t('Server')}</th><th scope="col">${t('State')}</th><th scope="col" class="num">${t('Calls/min')}</th></tr></thead>
    <tbody>${rowsOf(bay).map(
      ({
        group,
        usedBy,
        server,
        rate,
      }) => html`<tr><td><b class="med">${group ? link(group) : t('in no group')}</b></td><td data-l=${t('Used by')}>${usedBy}</td>
        <td data-l=${t('Server')}>${server ? link(server) : '–'}</td><td>${server ? mark(server.tone, server.icon, stateText(server)) : nothing}</td><td class="num" data-l=${t('Calls/min')}>${formatNumber(rate)}</td></tr>`,
    )}</tbody></table>`
  return plain
    ? table
    : html`<div class="tw" tabindex="0" role="region" aria-label=${t('Patch bay, table')}>${table}</div>`
}

function rowsOf({ clients, groups, servers, cords, nodes }: Bay): Row[] {
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  const grouped = new Set(groups.flatMap(({ servers: members = [] }) => members))
  return [
    ...groups.flatMap(group => {
      const usedBy = cords.filter(({ to }) => to === group.id).flatMap(({ from }) => names.get(from) ?? [])
      const shown = { group, usedBy: usedBy.join(', ') }
      const members = (group.servers ?? []).map(id => ({
        ...shown,
        server: nodes.get(id),
        rate: cords.find(cord => cord.from === group.id && cord.to === id)?.rate ?? 0,
      }))
      return members.length === 0 ? [{ ...shown, server: undefined, rate: group.rate }] : members
    }),
    ...servers
      .filter(({ id }) => !grouped.has(id))
      .map(server => ({ group: undefined, usedBy: '', server, rate: server.rate })),
  ]
}

function stateText({ tone, note }: BayNode): string {
  const words: Readonly<Record<Tone, string>> = {
    ok: t('Online'),
    warn: t('Connecting'),
    bad: t('Offline'),
    rest: note,
  }
  return tone === 'bad' && note !== t('offline') ? `${words.bad}, ${note}` : words[tone]
}
