import type { TeamTable } from '../../store/people-tables.ts'
import type { AfterCommit, Reader, Writer } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import { ownerName } from '../rows.ts'
import type { SharedKind, ShareTarget } from '../shares-api.ts'
import { emitTeamChange } from './share-events.ts'

/** The ids of the members of a team. */
export async function memberIds(db: Reader, teamId: string): Promise<readonly string[]> {
  const rows = await db.selectFrom('team_member').select('user_id').where('team_id', '=', teamId).execute()
  return rows.map(row => row.user_id)
}

/** The ids of the members whose accounts are enabled, by their names. */
export async function enabledIds(db: Reader, teamId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('team_member')
    .innerJoin('user', 'user.id', 'team_member.user_id')
    .select('user.id')
    .where('team_id', '=', teamId)
    .where('user.disabled', '=', 0)
    .orderBy('user.name_key')
    .execute()
  return rows.map(row => row.id)
}

/** The number of members of a team. */
export async function teamSize(db: Reader, teamId: string): Promise<number> {
  const count = await db
    .selectFrom('team_member')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow()
  return Number(count.count)
}

/** Writes who joined and who left a team; after the commit that holds, and is announced. */
export async function changeMembers(
  deps: Pick<RegistryDeps, 'shares' | 'bus'>,
  { trx, after }: { readonly trx: Writer; readonly after: AfterCommit },
  row: Pick<TeamTable, 'id' | 'name'>,
  { joined = [], left = [] }: { readonly joined?: readonly string[]; readonly left?: readonly string[] },
): Promise<void> {
  if (joined.length + left.length === 0) return
  for (let at = 0; at < left.length; at += 500)
    await trx
      .deleteFrom('team_member')
      .where('team_id', '=', row.id)
      .where('user_id', 'in', left.slice(at, at + 500))
      .execute()
  for (let at = 0; at < joined.length; at += 500)
    await trx
      .insertInto('team_member')
      .values(joined.slice(at, at + 500).map(user_id => ({ team_id: row.id, user_id })))
      .execute()
  const things = await sharedThings(trx, row.id)
  after(() => {
    for (const id of joined) deps.shares.join(row.id, id)
    for (const id of left) deps.shares.leave(row.id, id)
    const text = `team:${row.name}`
    emitTeamChange(deps, text, things, { users: joined, isMember: true })
    emitTeamChange(deps, text, things, { users: left, isMember: false })
  })
}

/** The things that are shared with a team. */
export async function sharedThings(db: Reader, teamId: string) {
  const columns = ['user.name as owner_name', 'user.number as owner_number', 'share.role'] as const
  const servers = await db
    .selectFrom('share')
    .innerJoin('server', 'server.id', 'share.server_id')
    .innerJoin('user', 'user.id', 'server.owner_id')
    .select(['server.id', 'server.name', 'server.owner_id', ...columns])
    .where('share.team_id', '=', teamId)
    .execute()
  const groups = await db
    .selectFrom('share')
    .innerJoin('server_group', 'server_group.id', 'share.group_id')
    .innerJoin('user', 'user.id', 'server_group.owner_id')
    .select(['server_group.id', 'server_group.name', 'server_group.owner_id', ...columns])
    .where('share.team_id', '=', teamId)
    .execute()
  const shown = (kind: SharedKind) => (row: (typeof servers)[number]) => {
    const { id, name, owner_id: ownerId, role } = row
    return { target: { kind, id, name, ownerId, ownerName: ownerName(row) } satisfies ShareTarget, role }
  }
  return [...servers.map(shown('server')), ...groups.map(shown('group'))]
}
