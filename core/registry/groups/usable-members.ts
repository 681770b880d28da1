import type { JsonValue } from '../../contract/json.ts'
import type { Actor, GroupRecord, ServerRecord } from '../../contract/records.ts'
import { nameKey } from '../../domain/names.ts'
import { canUse, type SharedRoles } from '../../domain/ownership.ts'
import { pauses } from '../../store/pauses.ts'
import type { Reader } from '../../store/transact.ts'
import { owned } from '../access.ts'
import type { UsableMember, WrittenGroup } from '../api.ts'
import { ownerName, serverRecord } from '../rows.ts'
import { selectServers } from '../server-rows.ts'
import type { ShareMap } from '../share-map.ts'
import { bringsMembers, type KnownGroup, type MemberRow, serverOf } from './group-rows.ts'
import { lostMembers } from './lost-members.ts'

/** Each may have tens of kilobytes of configuration. */
const READ_AT_ONCE = 50

/**
 * The members of a group whose servers this actor may use, private ones of the owner included where the group is shared with
 * the actor; for a system actor, those that its owner may use.
 */
export async function usableMembers(
  db: Reader,
  actor: Actor,
  group: GroupRecord,
  shares: SharedRoles,
  asShared = false,
): Promise<UsableMember[]> {
  const ids = group.members.map(member => member.serverId)
  if (ids.length === 0) return []
  const userId = actor.kind === 'user' ? actor.userId : group.ownerId
  const brings = asShared || bringsMembers(group, userId, shares)
  const servers = new Map<string, ServerRecord>()
  const pause = pauses()
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const some = ids.slice(from, from + READ_AT_ONCE)
    const rows = await selectServers(db).where('server.id', 'in', some).execute()
    for (const row of rows)
      if ((brings && row.owner_id === group.ownerId) || canUse(userId, owned(row), shares))
        servers.set(row.id, serverRecord(row))
    await pause()
  }
  return group.members.flatMap(member => {
    const server = servers.get(member.serverId)
    return server ? [{ member, server }] : []
  })
}

/**
 * The members that a group keeps when it is given to the user of this name: those that its present owner could use, since a server that
 * became private may belong to the new owner. And where the group is shared, no private server that the new owner has already: its
 * users would get it, which the new owner did not decide.
 */
export function membersFor(
  heir: JsonValue | undefined,
  { row, members }: KnownGroup,
  shares: ShareMap,
): readonly MemberRow[] {
  const isHeirs = (member: MemberRow) =>
    member.server_owner_id !== row.owner_id &&
    member.server_visibility !== 'public' &&
    nameKey(ownerName(member)) === nameKey(String(heir))
  return members.filter(
    member => canUse(row.owner_id, serverOf(member), shares) && !(shares.isShared(row.id) && isHeirs(member)),
  )
}

/** Reads within the writing transaction: after the commit, a failed read would report a saved change as failed. */
export async function asWritten(
  db: Reader,
  actor: Actor,
  group: GroupRecord,
  shares: SharedRoles,
): Promise<WrittenGroup> {
  return { ...group, usable: await usableMembers(db, actor, group, shares), lost: await lostMembers(db, group.id) }
}
