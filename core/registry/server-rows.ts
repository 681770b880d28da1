import type { Reader } from '../store/transact.ts'
import { OWNER_COLUMNS, type ServerRow } from './rows.ts'

/** All servers with their owners' columns. */
export function selectServers(db: Reader) {
  return db
    .selectFrom('server')
    .innerJoin('user', 'user.id', 'server.owner_id')
    .selectAll('server')
    .select(OWNER_COLUMNS)
}

/** Undefined when there is no such server. */
export async function serverRowById(db: Reader, id: string): Promise<ServerRow | undefined> {
  return selectServers(db).where('server.id', '=', id).executeTakeFirst()
}

/** The servers with these ids, in any order. */
export function serverRowsByIds(db: Reader, ids: readonly string[]): Promise<ServerRow[]> {
  return selectServers(db).where('server.id', 'in', ids).execute()
}

/** All owners' servers with this case-folded name. */
export async function serverRowsByKey(db: Reader, key: string): Promise<ServerRow[]> {
  return selectServers(db).where('server.name_key', '=', key).execute()
}

/** The groups that have these servers as members; call it before the servers are deleted. */
export async function groupsWith(
  db: Reader,
  serverIds: readonly string[],
): Promise<{ id: string; name: string; owner_id: string; visibility: 'private' | 'public'; revision: number }[]> {
  if (serverIds.length === 0) return []
  return db
    .selectFrom('server_group')
    .select(['id', 'name', 'owner_id', 'visibility', 'revision'])
    .where(
      'id',
      'in',
      db
        .selectFrom('group_member')
        .select('group_id')
        .where('server_id', 'in', [...serverIds]),
    )
    .execute()
}
