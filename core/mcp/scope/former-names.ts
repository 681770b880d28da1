import type { ScopeMember, Target } from './scope-types.ts'
import { everyTarget } from './selector.ts'

/**
 * The item that another hub exposed under this name, in a group that an import made: a member's former prefix, then the
 * item's own name. Only what the scope exposes now is found. Where several members fit, the first one in the group's order
 * that exposes such an item.
 */
export function findFormerName(
  name: string,
  members: readonly ScopeMember[],
  exposed: ReadonlyMap<string, Target>,
): Target | undefined {
  const wanted = new Map<string, { readonly original: string; readonly rank: number }>()
  members.forEach(({ server, formerPrefix }, rank) => {
    if (formerPrefix === undefined || !name.startsWith(formerPrefix)) return
    wanted.set(server.id, { original: name.slice(formerPrefix.length), rank })
  })
  if (wanted.size === 0) return undefined
  let found: Target | undefined
  let best = Number.POSITIVE_INFINITY
  for (const [, target] of everyTarget(exposed)) {
    const fits = wanted.get(target.member.server.id)
    if (!fits || fits.rank >= best || target.original !== fits.original) continue
    found = target
    best = fits.rank
  }
  return found
}
