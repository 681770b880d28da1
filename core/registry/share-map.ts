import { higherRole, type SharedRoles, type ShareRole } from '../domain/ownership.ts'
import type { Store } from '../store/open.ts'
import { type AfterCommit, type Reader, read, type Writer } from '../store/transact.ts'
import type { TeamSource } from './shares-api.ts'

/** A user or a team, by id. */
export interface SubjectId {
  readonly kind: 'user' | 'team'
  readonly id: string
}

/** The shares of one thing. */
interface SharedThing {
  readonly user: Map<string, ShareRole>
  readonly team: Map<string, ShareRole>
}

/**
 * All shares and team members in memory: rights are asked for with every request. Filled by `load`, and then changed after the
 * commit of each write. Only one process writes a database at a time.
 */
export class ShareMap implements SharedRoles {
  readonly #things = new Map<string, SharedThing>()
  /** The teams of each user. */
  readonly #teams = new Map<string, Set<string>>()
  /** The sources of the teams that have one. */
  readonly #sources = new Map<string, TeamSource>()

  /** Reads everything; must be done before rights are asked for. */
  async load(store: Store): Promise<void> {
    const { shares, members, teams } = await read(store, async db => ({
      shares: await db.selectFrom('share').selectAll().execute(),
      members: await db.selectFrom('team_member').selectAll().execute(),
      teams: await db.selectFrom('team').selectAll().execute(),
    }))
    this.#things.clear()
    this.#teams.clear()
    this.#sources.clear()
    for (const { id, source_provider: provider, source_group: group } of teams)
      this.setSource(id, provider === null || group === null ? null : { provider, group })
    for (const { server_id, group_id, user_id, team_id, role } of shares)
      this.put(server_id ?? group_id ?? '', subjectOf({ user_id, team_id }), role)
    for (const { team_id, user_id } of members) this.join(team_id, user_id)
  }

  sharedRole(userId: string, thingId: string): ShareRole | undefined {
    const shared = this.#things.get(thingId)
    if (!shared) return undefined
    let role = shared.user.get(userId)
    const teams = shared.team.size === 0 ? undefined : this.#teams.get(userId)
    for (const team of teams ?? []) role = higherRole(role, shared.team.get(team))
    return role
  }

  /** True when nothing is shared at all. */
  get isEmpty(): boolean {
    return this.#things.size === 0
  }

  /** True when anything of this thing is shared with anybody. */
  isShared(thingId: string): boolean {
    return this.#things.has(thingId)
  }

  /** True when a user or a team of the first thing has no share of the second. */
  isMissing(groupId: string, { id, ownerId }: { readonly id: string; readonly ownerId: string }): boolean {
    const group = this.#things.get(groupId)
    if (!group) return false
    const server = this.#things.get(id)
    const users = [...group.user.keys()].some(userId => userId !== ownerId && !this.sharedRole(userId, id))
    return users || [...group.team.keys()].some(team => !server?.team.has(team))
  }

  /** Null removes the share. */
  put(thingId: string, { kind, id }: SubjectId, role: ShareRole | null): void {
    const shared = this.#things.get(thingId) ?? { user: new Map(), team: new Map() }
    if (role === null) shared[kind].delete(id)
    else shared[kind].set(id, role)
    if (shared.user.size + shared.team.size === 0) this.#things.delete(thingId)
    else this.#things.set(thingId, shared)
  }

  join(teamId: string, userId: string): void {
    const teams = this.#teams.get(userId) ?? new Set()
    this.#teams.set(userId, teams.add(teamId))
  }

  leave(teamId: string, userId: string): void {
    const teams = this.#teams.get(userId)
    teams?.delete(teamId)
    if (teams?.size === 0) this.#teams.delete(userId)
  }

  /** Ids of the teams of a user. */
  teamsOf(userId: string): readonly string[] {
    return [...(this.#teams.get(userId) ?? [])]
  }

  isMember(teamId: string, userId: string): boolean {
    return this.#teams.get(userId)?.has(teamId) === true
  }

  /** Null: the members of the team are set by administrators. */
  setSource(teamId: string, source: TeamSource | null): void {
    if (source) this.#sources.set(teamId, source)
    else this.#sources.delete(teamId)
  }

  /** True when the user is a member of exactly those teams of the provider whose group is one of these. */
  hasTeamsOf(userId: string, provider: string, groups: ReadonlySet<string>): boolean {
    for (const [teamId, source] of this.#sources)
      if (source.provider === provider && groups.has(source.group) !== this.isMember(teamId, userId)) return false
    return true
  }

  /** Called when a server or group was deleted. */
  forgetThing(thingId: string): void {
    this.#things.delete(thingId)
  }

  /** Called when a user or a team was deleted. */
  forgetSubject(subject: SubjectId): void {
    for (const thingId of [...this.#things.keys()]) this.put(thingId, subject, null)
    if (subject.kind === 'user') this.#teams.delete(subject.id)
    else {
      this.#sources.delete(subject.id)
      for (const userId of [...this.#teams.keys()]) this.leave(subject.id, userId)
    }
  }
}

/** The subject of a row. */
export function subjectOf(row: { readonly user_id: string | null; readonly team_id: string | null }): SubjectId {
  return row.user_id === null ? { kind: 'team', id: row.team_id ?? '' } : { kind: 'user', id: row.user_id }
}

/**
 * The ids of the things of a kind that are shared with a user, as a query for `in`. It is two queries, each by an index: with `or`
 * PostgreSQL reads all shares.
 */
export function sharedIds(db: Reader, kind: 'server' | 'group', userId: string) {
  const column = `share.${kind}_id` as const
  const byTeams = db
    .selectFrom('team_member')
    .innerJoin('share', 'share.team_id', 'team_member.team_id')
    .select(column)
    .where('team_member.user_id', '=', userId)
    .where(column, 'is not', null)
  return db
    .selectFrom('share')
    .select(column)
    .where('share.user_id', '=', userId)
    .where(column, 'is not', null)
    .unionAll(byTeams)
}

/** Removes the share of a new owner, who has all rights now. */
export async function dropOwnShare(
  shares: ShareMap,
  trx: Writer,
  after: AfterCommit,
  moved: { readonly kind: 'server' | 'group'; readonly id: string; readonly ownerId: string },
): Promise<void> {
  const { kind, id, ownerId } = moved
  await trx.deleteFrom('share').where(`${kind}_id`, '=', id).where('user_id', '=', ownerId).execute()
  after(() => shares.put(id, { kind: 'user', id: ownerId }, null))
}
