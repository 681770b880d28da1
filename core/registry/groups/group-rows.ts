import type { Actor, GroupMember, GroupRecord } from '../../contract/records.ts'
import { formatRef } from '../../domain/names.ts'
import { roleFor, type SharedRoles, type Thing } from '../../domain/ownership.ts'
import type { GroupInstructions, GroupSelector } from '../../features/groups.ts'
import type { GroupMemberTable, GroupTable } from '../../store/tables.ts'
import type { Reader, Writer } from '../../store/transact.ts'
import type { GroupHead } from '../api.ts'
import { OWNER_COLUMNS, type OwnerColumns, ownerName } from '../rows.ts'

/** A group's row with its owner's columns. */
export type GroupRow = GroupTable & OwnerColumns

/** A member's row with its server's and that server's owner's columns. */
export interface MemberRow extends GroupMemberTable {
  readonly server_name: string
  readonly server_owner_id: string
  readonly server_visibility: 'private' | 'public'
  readonly owner_name: string | null
  readonly owner_number: number
  readonly owner_disabled: number
}

/** All groups with their owners' columns, to be filtered. */
export function selectGroups(db: Reader) {
  return db
    .selectFrom('server_group')
    .innerJoin('user', 'user.id', 'server_group.owner_id')
    .selectAll('server_group')
    .select(OWNER_COLUMNS)
}

/** The groups with these ids, in any order. */
export function groupRowsByIds(db: Reader, ids: readonly string[]): Promise<GroupRow[]> {
  return selectGroups(db).where('server_group.id', 'in', ids).execute()
}

/** Groups that another hub served under this case-folded name. */
export function rowsByFormerPath(db: Reader, pathKey: string): Promise<GroupRow[]> {
  const formers = db.selectFrom('group_former_path').select('group_id').where('path_key', '=', pathKey)
  return selectGroups(db).where('server_group.id', 'in', formers).execute()
}

/** All members with their servers' columns, ordered by group and position. */
export function selectMembers(db: Reader) {
  return db
    .selectFrom('group_member')
    .innerJoin('server', 'server.id', 'group_member.server_id')
    .innerJoin('user', 'user.id', 'server.owner_id')
    .selectAll('group_member')
    .select([
      'server.name as server_name',
      'server.owner_id as server_owner_id',
      'server.visibility as server_visibility',
      'user.name as owner_name',
      'user.number as owner_number',
      'user.disabled as owner_disabled',
    ])
    .orderBy('group_member.group_id')
    .orderBy('group_member.position')
}

/** The ownership of a member's server, for checking rights. */
export function serverOf(member: MemberRow): Thing {
  const ownerDisabled = member.owner_disabled === 1
  return {
    ...{ id: member.server_id, ownerId: member.server_owner_id },
    ...{ visibility: member.server_visibility, ownerDisabled },
  }
}

/** The group as visible to this actor: members whose servers it may not see are left out. */
export function groupRecord(
  row: GroupRow,
  members: readonly MemberRow[],
  actor: Actor,
  shares: SharedRoles,
): GroupRecord {
  const head = groupHead(row)
  const brings = actor.kind === 'user' && bringsMembers(head, actor.userId, shares)
  const seen = members.filter(member => {
    const server = serverOf(member)
    return roleFor(actor, server, shares) !== undefined || (brings && server.ownerId === head.ownerId)
  })
  return { ...head, members: seen.map(groupMember) }
}

/** True when a group is shared with a user, who may use servers of its owner through it. */
export function bringsMembers(
  { id, ownerId, ownerDisabled }: Pick<GroupHead, 'id' | 'ownerId' | 'ownerDisabled'>,
  userId: string,
  shares: SharedRoles,
): boolean {
  return userId !== ownerId && ownerDisabled !== true && shares.sharedRole(userId, id) !== undefined
}

/** The group without its members. */
export function groupHead(row: GroupRow): GroupHead {
  return {
    id: row.id,
    ownerId: row.owner_id,
    ownerName: ownerName(row),
    name: row.name,
    ...(row.description === null ? {} : { description: row.description }),
    visibility: row.visibility,
    naming: row.naming,
    ...(row.result_limit_bytes === null ? {} : { resultLimitBytes: row.result_limit_bytes }),
    ...ownTexts(row),
    ...(row.owner_disabled === 1 ? { ownerDisabled: true } : {}),
    origin: row.origin,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The fields that are stored as JSON. */
export function ownTexts({
  instructions,
  tags,
  selector,
}: GroupRow): Pick<GroupRecord, 'instructions' | 'tags' | 'selector'> {
  return {
    ...(instructions === null ? {} : { instructions: JSON.parse(instructions) as GroupInstructions }),
    ...(tags === null ? {} : { tags: JSON.parse(tags) as string[] }),
    ...(selector === null ? {} : { selector: JSON.parse(selector) as GroupSelector }),
  }
}

function groupMember(row: MemberRow): GroupMember {
  return {
    serverId: row.server_id,
    serverRef: formatRef(ownerName(row), row.server_name),
    serverName: row.server_name,
    ...(row.alias === null ? {} : { alias: row.alias }),
    tools: JSON.parse(row.tools) as GroupMember['tools'],
    prompts: JSON.parse(row.prompts) as GroupMember['prompts'],
    resources: JSON.parse(row.resources) as GroupMember['resources'],
    ...(row.former_prefix === null ? {} : { formerPrefix: row.former_prefix }),
    ...(row.selected_by === null ? {} : { selectedBy: row.selected_by }),
  }
}

/** A member as stored: its server's id, its selections as JSON. Without a former prefix it keeps the one that it has. */
export type NewMember = Omit<GroupMemberTable, 'group_id' | 'position' | 'former_prefix'> & {
  readonly former_prefix?: string
}

/** Replaces the members of a group, in this order. */
export async function writeMembers(trx: Writer, groupId: string, members: readonly NewMember[]): Promise<void> {
  const known = await trx
    .selectFrom('group_member')
    .select(['server_id', 'former_prefix'])
    .where('group_id', '=', groupId)
    .where('former_prefix', 'is not', null)
    .execute()
  const formers = new Map(known.map(({ server_id, former_prefix }) => [server_id, former_prefix]))
  await trx.deleteFrom('group_member').where('group_id', '=', groupId).execute()
  await trx.deleteFrom('group_lost_member').where('group_id', '=', groupId).execute()
  const rows = members.map((member, position) => {
    const former_prefix = member.former_prefix ?? formers.get(member.server_id) ?? null
    return { ...member, former_prefix, group_id: groupId, position }
  })
  // In batches: a statement of SQLite takes 32,766 values, one of PostgreSQL 65,535.
  for (let at = 0; at < rows.length; at += 500) {
    await trx
      .insertInto('group_member')
      .values(rows.slice(at, at + 500))
      .execute()
  }
}

/** A group with all its members, regardless of the actor. */
export interface KnownGroup {
  readonly row: GroupRow
  readonly members: readonly MemberRow[]
}

/** Undefined when there is no such group. */
export async function knownById(db: Reader, id: string): Promise<KnownGroup | undefined> {
  const row = await selectGroups(db).where('server_group.id', '=', id).executeTakeFirst()
  return row && { row, members: await membersOf(db, id) }
}

/** In the group's order. */
export function membersOf(db: Reader, groupId: string): Promise<MemberRow[]> {
  return selectMembers(db).where('group_member.group_id', '=', groupId).execute()
}

/** The columns that a member keeps when the group is written again. */
export function asNewMember(row: MemberRow): NewMember {
  const { server_id, alias, tools, prompts, resources, selected_by } = row
  return { server_id, alias, tools, prompts, resources, selected_by }
}
