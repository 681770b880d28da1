import { formatRef } from '../../domain/names.ts'
import { canUse, type SharedRoles } from '../../domain/ownership.ts'
import type { Reader, Writer } from '../../store/transact.ts'
import { ownerName } from '../rows.ts'
import { selectMembers, serverOf } from './group-rows.ts'

/** Rows per statement. */
const ROWS_AT_ONCE = 500

/**
 * Records which groups lose members together with these servers, with the names that the groups' owners see; call it before the
 * servers are deleted. Servers that a group's owner could no longer see are not recorded.
 */
export async function rememberLostMembers(
  trx: Writer,
  serverIds: readonly string[],
  { at, shares }: { readonly at: string; readonly shares: SharedRoles },
): Promise<void> {
  if (serverIds.length === 0) return
  const members = await selectMembers(trx)
    .innerJoin('server_group', 'server_group.id', 'group_member.group_id')
    .select('server_group.owner_id as group_owner_id')
    .where('group_member.server_id', 'in', [...serverIds])
    .execute()
  const rows = members
    .filter(member => canUse(member.group_owner_id, serverOf(member), shares))
    .map(member => {
      const own = member.group_owner_id === member.server_owner_id
      const name = own ? member.server_name : formatRef(ownerName(member), member.server_name)
      return { group_id: member.group_id, server_name: name, lost_at: at }
    })
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
    await trx
      .insertInto('group_lost_member')
      .values(rows.slice(start, start + ROWS_AT_ONCE))
      .onConflict(conflict => conflict.columns(['group_id', 'server_name']).doUpdateSet({ lost_at: at }))
      .execute()
  }
}

/** The names of the members that a group has lost since its members were last written. */
export async function lostMembers(db: Reader, groupId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('group_lost_member')
    .select('server_name')
    .where('group_id', '=', groupId)
    .orderBy('server_name')
    .execute()
  return rows.map(row => row.server_name)
}
