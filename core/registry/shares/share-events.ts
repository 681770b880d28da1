import type { ShareRole } from '../../domain/ownership.ts'
import type { Reader } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import type { SubjectId } from '../share-map.ts'
import type { ShareTarget } from '../shares-api.ts'

/** The ids of the users of a subject: one user, or the members of a team. */
export async function usersOf(db: Reader, { kind, id }: SubjectId): Promise<readonly string[]> {
  if (kind === 'user') return [id]
  const rows = await db.selectFrom('team_member').select('user_id').where('team_id', '=', id).execute()
  return rows.map(row => row.user_id)
}

/** Emits `share.changed` to the owner, and to each of the users. Call it after the commit. */
export function emitShareChange(
  { bus }: Pick<RegistryDeps, 'bus'>,
  { kind, id, name, ownerId, ownerName }: ShareTarget,
  { text: subject, role }: { readonly text: string; readonly role: ShareRole | null },
  users: readonly string[],
): void {
  const data = { kind, id, ref: `${ownerName}~${name}`, subject, role }
  bus.emit('share.changed', ownerId, data)
  for (const userId of new Set(users)) if (userId !== ownerId) bus.emit('share.changed', userId, data)
}

/** A thing that is shared with a team, and the role. */
export interface TeamShare {
  readonly target: ShareTarget
  readonly role: ShareRole
}

/** Most events for the members of a team at once; beyond that each member gets one. */
const MOST_EVENTS = 2_000

/**
 * Emits what changed for these users, who joined (`isMember`) or left a team: to the owners for each thing, and to each user for
 * each thing, or for one of many. Call it after the commit.
 */
export function emitTeamChange(
  deps: Pick<RegistryDeps, 'bus'>,
  text: string,
  things: readonly TeamShare[],
  { users, isMember }: { readonly users: readonly string[]; readonly isMember: boolean },
): void {
  if (users.length === 0) return
  const isLarge = things.length * users.length > MOST_EVENTS
  for (const [index, { target, role }] of things.entries())
    emitShareChange(deps, target, { text, role: isMember ? role : null }, isLarge && index > 0 ? [] : users)
}
