import { html, nothing, type TemplateResult } from 'lit'
import { api, segment } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import { controlServer, isEditable, refOf, type ServerVerb, serverPath } from '../../api/servers.ts'
import { hasRole } from '../../api/sharing.ts'
import type { GroupRecord, ServerRecord } from '../../api/types.ts'
import { confirmed } from '../../components/layers/confirm.ts'
import type { MenuItem } from '../../components/layers/menu.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { plural, t } from '../../text/t.ts'

/** Requests of one deed that run at a time. */
const AT_ONCE = 4

/** Actions of the bar. */
export interface BulkActions {
  readonly disabled: boolean
  control(verb: ServerVerb): void
  group(): void
  remove(): void
  clear(): void
}

/** The bar above the table while servers are selected: their number, the actions, and excluded servers. */
export function bulkBar(chosen: readonly ServerRecord[], total: number, actions: BulkActions): TemplateResult {
  const others = chosen.filter(server => !isEditable(server))
  const none = actions.disabled || others.length === chosen.length
  const button = (name: string, label: string, act: () => void, off = none, tone = ''): TemplateResult =>
    html`<button type="button" class="btn sm ${tone}" ?disabled=${off} @click=${act}>${icon(name)}${label}</button>`
  return html`<div class="bulk" role="toolbar" aria-label=${t('Chosen servers')}><b class="nw">${t('{n} chosen', { n: chosen.length })}</b>
    <span class="q nw">${t('of {n}', { n: total })}</span><span class="vr"></span>${button('play', t('Start'), () => actions.control('start'))}${button(
      'square',
      t('Stop'),
      () => actions.control('stop'),
    )}${button('rotate-cw', t('Restart'), () => actions.control('restart'))}${button('cable', t('Add to group'), actions.group, actions.disabled)}${button(
      'trash-2',
      t('Delete'),
      actions.remove,
      actions.disabled || !chosen.some(server => hasRole(server, 'owner')),
      'bad',
    )}<span class="push row">${others.length === 0 ? nothing : html`<span class="q xs">${leftOut(others, chosen.length)}</span>`}<button type="button"
      class="btn ghost sm" @click=${actions.clear}>${t('Clear')}</button></span></div>`
}

function leftOut(others: readonly ServerRecord[], total: number): string {
  const owners = [...new Set(others.map(({ owner }) => owner))]
  const values = { n: others.length, total, owners: owners.slice(0, 3).join(', ') }
  return t('{n} of {total} belong to {owners}: only added to groups', values)
}

/** Runs the same action on several servers, a few at a time, and shows the result. Returns the servers for which it succeeded. */
export async function each(
  servers: readonly ServerRecord[],
  deed: (server: ServerRecord) => Promise<unknown>,
  done: (n: number) => string,
): Promise<readonly ServerRecord[]> {
  const good: ServerRecord[] = []
  const failures: string[] = []
  const left = [...servers]
  const work = async (): Promise<void> => {
    for (let server = left.shift(); server; server = left.shift()) {
      try {
        await deed(server)
        good.push(server)
      } catch (error) {
        failures.push(`${server.name}: ${errorText(asApiError(error))}`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const failed =
    failures.length === 0
      ? ''
      : ` ${plural(failures.length, '{n} failed:', '{n} failed:')} ${failures.slice(0, 3).join(' · ')}`
  toast(`${good.length === 0 ? '' : done(good.length)}${failed}`.trim())
  return good
}

/** Starts, stops or restarts those of the chosen servers that this user may. */
export async function controlEach(servers: readonly ServerRecord[], verb: ServerVerb): Promise<void> {
  await each(
    servers.filter(isEditable),
    server => controlServer(refOf(server), verb),
    n => {
      if (verb === 'start') return plural(n, '{n} server started.', '{n} servers started.')
      if (verb === 'stop') return plural(n, '{n} server stopped.', '{n} servers stopped.')
      return plural(n, '{n} server restarted.', '{n} servers restarted.')
    },
  )
}

/** Adds servers to a group with all their tools. */
export async function addToGroup(servers: readonly ServerRecord[], group: GroupRecord): Promise<void> {
  // One after the other: each changes the same group.
  const known = new Set(group.members.map(({ server }) => server))
  const fresh = servers.filter(server => !known.has(refOf(server)))
  let queue: Promise<unknown> = Promise.resolve()
  const add = (server: ServerRecord): Promise<unknown> => {
    const path = `/api/groups/${segment(group.ref)}/members/${segment(refOf(server))}`
    const next = queue.then(() => api.put(path, { body: { tools: 'all' } }))
    queue = next.catch(() => {})
    return next
  }
  if (fresh.length === 0) return toast(t('They are all in {group} already.', { group: group.name }))
  await each(fresh, add, n =>
    plural(n, '{n} server added to {group}.', '{n} servers added to {group}.', { group: group.name }),
  )
}

/** Groups that lose a member when these servers go. */
export function groupsWith(servers: readonly ServerRecord[], groups: readonly GroupRecord[]): readonly GroupRecord[] {
  const gone = new Set(servers.map(refOf))
  return groups.filter(({ members }) => members.some(({ server }) => gone.has(server)))
}

/** Asks for confirmation, with the further losses, and deletes; true: deleted. */
export async function deleteServers(
  servers: readonly ServerRecord[],
  groups: readonly GroupRecord[],
): Promise<boolean> {
  const mine = servers.filter(server => hasRole(server, 'owner'))
  const [only] = mine
  if (!only) return false
  const isOne = mine.length === 1
  const yes = await confirmed({
    title: isOne ? t('Delete server {name}?', { name: only.name }) : t('Delete {n} servers?', { n: mine.length }),
    text: lossText(mine, groups),
    action: isOne ? t('Delete server') : t('Delete {n} servers', { n: mine.length }),
    typed: isOne ? only.name : String(mine.length),
  })
  if (!yes) return false
  await each(
    mine,
    server => api.delete(serverPath(refOf(server))),
    n => plural(n, '{n} server deleted.', '{n} servers deleted.'),
  )
  return true
}

/** The menu's way to delete a server, for its owner and administrators. */
export function deleteItem(server: ServerRecord, disabled: boolean, action: () => void): readonly MenuItem[] {
  return hasRole(server, 'owner')
    ? [{ label: t('Delete server'), icon: 'trash-2', danger: true, disabled, action }]
    : []
}

/** Losses beside the servers: their secrets, and members of groups with the clients that use them. */
export function lossText(servers: readonly ServerRecord[], groups: readonly GroupRecord[]): TemplateResult {
  const losing = groupsWith(servers, groups)
  const tools = servers.reduce((sum, { status }) => sum + status.counts.tools, 0)
  return html`<p>${t('Settings and secrets are deleted and cannot be brought back.')}</p>
    ${tools === 0 ? nothing : html`<p>${plural(tools, 'Clients lose {n} tool.', 'Clients lose {n} tools.')}</p>`}
    ${
      losing.length === 0
        ? nothing
        : html`<p>${plural(
            losing.length,
            '{n} group loses a member, and its clients and assistants with it: {names}.',
            '{n} groups lose members, and their clients and assistants with them: {names}.',
            {
              names: losing
                .slice(0, 10)
                .map(({ name }) => name)
                .join(', '),
            },
          )}</p>`
    }`
}
