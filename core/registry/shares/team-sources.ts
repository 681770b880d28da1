import { LIMITS } from '../../config/limits.ts'
import type { TeamTable } from '../../store/people-tables.ts'
import { type AfterCommit, type Writer, write } from '../../store/transact.ts'
import type { RegistryDeps } from '../context.ts'
import type { TeamSource, TeamsSet } from '../shares-api.ts'
import { changeMembers, memberIds } from './team-members.ts'

type Deps = Pick<RegistryDeps, 'store' | 'shares' | 'bus'>

/** The source of a team; null: its members are set by administrators. */
export function sourceOf({ source_provider: provider, source_group: group }: TeamTable): TeamSource | null {
  return provider === null || group === null ? null : { provider, group }
}

/** True when the members of a team are set by this source. */
export function isOfSource(row: TeamTable, { provider, group }: TeamSource): boolean {
  return row.source_provider === provider && row.source_group === group
}

/** Makes the user a member of exactly those teams of the provider whose group is one of these. */
export async function setTeamsOf(
  deps: Deps,
  userId: string,
  provider: string,
  groups: readonly string[],
): Promise<TeamsSet> {
  const wanted = new Set(groups)
  // Tokens of clients come with every request.
  if (deps.shares.hasTeamsOf(userId, provider, wanted)) return { joined: [], left: [], full: [] }
  return write(deps.store, async (trx, after) => {
    const changed = { joined: [] as string[], left: [] as string[], full: [] as string[] }
    for (const team of await teamsFor(trx, userId, provider)) {
      const members = await memberIds(trx, team.id)
      const isMember = members.includes(userId)
      if (wanted.has(team.source_group ?? '') === isMember) continue
      const how = isMember ? 'left' : roomIn(members)
      changed[how].push(team.name)
      if (how !== 'full') await changeMembers(deps, { trx, after }, team, { [how]: [userId] })
    }
    return changed
  })
}

function roomIn(members: readonly string[]): 'joined' | 'full' {
  return members.length < LIMITS.teamMembers ? 'joined' : 'full'
}

/** The teams of a provider; none for a user who was removed or disabled at the same moment. */
async function teamsFor(trx: Writer, userId: string, provider: string): Promise<readonly TeamTable[]> {
  const users = trx.selectFrom('user').select('id').where('id', '=', userId).where('disabled', '=', 0)
  if (!(await users.executeTakeFirst())) return []
  return trx.selectFrom('team').selectAll().where('source_provider', '=', provider).orderBy('name_key').execute()
}

/** Takes a user out of all teams that sign-ins set, within a transaction. */
export async function leaveSources(
  deps: Deps,
  { trx, after }: { readonly trx: Writer; readonly after: AfterCommit },
  userId: string,
): Promise<void> {
  const teams = await trx
    .selectFrom('team')
    .innerJoin('team_member', 'team_member.team_id', 'team.id')
    .select(['team.id', 'team.name'])
    .where('team.source_provider', 'is not', null)
    .where('team_member.user_id', '=', userId)
    .execute()
  for (const team of teams) await changeMembers(deps, { trx, after }, team, { left: [userId] })
}

/** Empties the teams of providers that are over. Returns the names of those that had members. */
export async function endSources(deps: Deps, isOver: (provider: string) => boolean): Promise<readonly string[]> {
  return write(deps.store, async (trx, after) => {
    const teams = await trx.selectFrom('team').selectAll().where('source_provider', 'is not', null).execute()
    const emptied: string[] = []
    for (const team of teams.filter(row => isOver(row.source_provider ?? ''))) {
      const left = await memberIds(trx, team.id)
      if (left.length > 0) emptied.push(team.name)
      await changeMembers(deps, { trx, after }, team, { left })
    }
    return emptied
  })
}
