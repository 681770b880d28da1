import type { Actor, GroupRecord } from '../../contract/records.ts'
import { canUse } from '../../domain/ownership.ts'
import type { Reader } from '../../store/transact.ts'
import { owned } from '../access.ts'
import type { UsableMember, WrittenGroup } from '../api.ts'
import { serverRecord } from '../rows.ts'
import { selectServers } from '../server-rows.ts'
import { lostMembers } from './lost-members.ts'

/** The members of a group whose servers this actor may use; for others than users, its owner. */
export async function usableMembers(db: Reader, actor: Actor, group: GroupRecord): Promise<UsableMember[]> {
  const ids = group.members.map(member => member.serverId)
  if (ids.length === 0) return []
  const rows = await selectServers(db).where('server.id', 'in', ids).execute()
  const userId = actor.kind === 'user' ? actor.userId : group.ownerId
  const servers = new Map(rows.filter(row => canUse(userId, owned(row))).map(row => [row.id, serverRecord(row)]))
  return group.members.flatMap(member => {
    const server = servers.get(member.serverId)
    return server ? [{ member, server }] : []
  })
}

/** Read within the transaction that writes: behind its end a failure would deny a change that is kept. */
export async function asWritten(db: Reader, actor: Actor, group: GroupRecord): Promise<WrittenGroup> {
  return { ...group, usable: await usableMembers(db, actor, group), lost: await lostMembers(db, group.id) }
}
