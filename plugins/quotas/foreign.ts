import type { PluginContext, UserActor } from 'patchbay/contract'
import type {} from 'patchbay/features'
import { dayOf } from './meter.ts'
import type { Metered, Plans } from './plans.ts'
import { type Quota, toolSubject } from './quota.ts'
import type { Usage, UsageSum } from './usage.ts'

/** Days whose calls show that a reader knows a tool. */
const KNOWN_DAYS = 31
const DAY_MS = 86_400_000

/** A quota of somebody else's thing that counts for a reader. `used`: the reader's own calls of today. */
export interface ForeignQuota {
  readonly of: 'group' | 'server' | 'tool'
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly quota: Quota
  readonly used: Readonly<Record<string, number>>
}

/**
 * Quotas of shared and public things, with the reader's own use: that of all callers is the owner's to see. Use of groups is not kept
 * by user. Of tools those that the reader has called, since an owner may hide others.
 */
export async function foreignQuotas(
  { servers, groups }: Pick<PluginContext<unknown>, 'servers' | 'groups'>,
  plans: Plans,
  usage: Usage,
  actor: UserActor,
): Promise<readonly ForeignQuota[]> {
  const known = byThing(plans.all())
  if (known.size === 0) return []
  const nowMs = Date.now()
  const [allServers, allGroups, sums] = await Promise.all([
    servers.list(actor, 'visible'),
    groups.list(actor, 'visible'),
    usage.sums({ by: 'tool', userId: actor.userId, since: dayOf(nowMs - (KNOWN_DAYS - 1) * DAY_MS) }),
  ])
  const isForeign = ({ id, ownerId }: { readonly id: string; readonly ownerId: string }) =>
    ownerId !== actor.userId && known.has(id)
  const ofGroups = allGroups
    .filter(isForeign)
    .flatMap(({ id, name, ownerName: owner }) =>
      (known.get(id) ?? []).map(({ quota }) => ({ of: 'group' as const, id, name, owner, quota, used: {} })),
    )
  const ofServers = allServers.filter(isForeign).flatMap(({ id, name, ownerName: owner }) => {
    const own = sums.filter(({ server_id }) => server_id === id)
    return (known.get(id) ?? []).flatMap(({ kind, subject, quota }): readonly ForeignQuota[] => {
      const tool = subject.slice(toolSubject(id, '').length)
      const rows = kind === 'tool' ? own.filter(row => row.tool === tool) : own
      if (kind === 'tool' && rows.length === 0) return []
      const used = usedOn(dayOf(nowMs), rows)
      return [{ of: kind === 'tool' ? 'tool' : 'server', id, name: kind === 'tool' ? tool : name, owner, quota, used }]
    })
  })
  return [...ofGroups, ...ofServers]
}

/** Quotas of servers and groups by the ids of these, a server's own before those of its tools. */
function byThing(all: readonly Metered[]): ReadonlyMap<string, readonly Metered['plan'][]> {
  const found = new Map<string, Metered['plan'][]>()
  for (const { plan } of all) {
    const id = plan.serverId ?? plan.groupId
    if (id) found.set(id, [...(found.get(id) ?? []), plan])
  }
  for (const list of found.values()) list.sort((one, other) => (one.subject < other.subject ? -1 : 1))
  return found
}

function usedOn(day: string, rows: readonly UsageSum[]): Readonly<Record<string, number>> {
  const today = rows.filter(row => row.day === day)
  return {
    perDay: today.reduce((sum, { calls }) => sum + calls, 0),
    resultTokensPerDay: today.reduce((sum, { result_tokens }) => sum + result_tokens, 0),
  }
}
