import { html, nothing } from 'lit'
import { asApiError } from '../../api/problem.ts'
import { hasRole, sharing } from '../../api/sharing.ts'
import { type GroupRecord, refOf, type ServerRecord } from '../../api/types.ts'
import { live } from '../../app/live.ts'
import { href } from '../../app/router.ts'
import { toast } from '../../components/layers/toast.ts'
import { warningText } from '../../components/sharing/group-warning.ts'
import { errorText } from '../../components/states.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

/** Members that some users of the shared group do not get, each with a button that shares the member. */
export function missedMembers(group: GroupRecord, servers: readonly ServerRecord[], done: () => void): unknown {
  const missed = group.warnings.filter(({ code }) => code === 'others_get_less')
  if (missed.length === 0 || !hasRole(group, 'owner')) return nothing
  const refs = new Set(group.members.map(({ server }) => server))
  return missed.map(warning => {
    const members = servers.filter(server => server.name === warning.server && refs.has(refOf(server)))
    const own = members.find(server => hasRole(server, 'owner'))
    return html`<div class="callout warn">${icon('triangle-alert')}<p class="grow">${warningText(warning)}</p>${own ? way(group, own, done) : nothing}</div>`
  })
}

function way(group: GroupRecord, server: ServerRecord, done: () => void): unknown {
  if (group.visibility === 'public')
    return html`<a class="btn sm" href=${href(`/servers/${encodeURIComponent(refOf(server))}`, { tab: 'access' })}>${t('Open its access')}</a>`
  return html`<button type="button" class="btn sm" ?disabled=${!live.reachable} @click=${() => void shareToo(group, server, done)}>${t('Share {server} with them', { server: server.name })}</button>`
}

/** Gives the role `use` to all users that the group is shared with and that have no share of the server; no role is lowered. */
async function shareToo(group: GroupRecord, server: ServerRecord, done: () => void): Promise<void> {
  const thing = { kind: 'server', ref: refOf(server) } as const
  try {
    const [wanted, present] = await Promise.all([
      sharing.list({ kind: 'group', ref: refOf(group) }),
      sharing.list(thing),
    ])
    const has = new Set(present.map(({ subject }) => subject))
    const missing = wanted.filter(({ subject }) => !has.has(subject) && subject !== `user:${server.owner}`)
    for (const { subject } of missing) await sharing.put(thing, subject, 'use')
    toast(t('{server} is shared with them, too', { server: server.name }))
  } catch (error) {
    toast(errorText(asApiError(error)))
  }
  done()
}
