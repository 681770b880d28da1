import type { ShareRole } from '../../domain/ownership.ts'
import type { Reader } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import type { SubjectId } from '../share-map.ts'
import type { ShareTarget } from '../shares-api.ts'

/** One role that changed; null: removed. */
export interface RoleChange {
  readonly subject: SubjectId
  /** `user:name` or `team:name`. */
  readonly text: string
  readonly role: ShareRole | null
}

/** The ids of the users whom a subject is. */
export async function usersOf(db: Reader, { kind, id }: SubjectId): Promise<readonly string[]> {
  if (kind === 'user') return [id]
  const rows = await db.selectFrom('team_member').select('user_id').where('team_id', '=', id).execute()
  return rows.map(row => row.user_id)
}

/** Emits `share.changed` to the owner, and to each of the users. Call it after the commit. */
export function emitShareChange(
  { bus }: Pick<RegistryDeps, 'bus'>,
  { kind, id, name, ownerId, ownerName }: ShareTarget,
  { text: subject, role }: Pick<RoleChange, 'text' | 'role'>,
  users: readonly string[],
): void {
  const data = { kind, id, ref: `${ownerName}~${name}`, subject, role }
  bus.emit('share.changed', ownerId, data)
  for (const userId of new Set(users)) if (userId !== ownerId) bus.emit('share.changed', userId, data)
}
