import { randomUUID } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { type FieldError, HubError } from '../../contract/errors.ts'
import type { Actor } from '../../contract/records.ts'
import { checkName, isNameProblem, nameKey, quoteName } from '../../domain/names.ts'
import { isAdmin } from '../../domain/ownership.ts'
import { validationError } from '../../domain/validation-error.ts'
import { isUniqueViolation } from '../../store/errors.ts'
import type { TeamTable } from '../../store/people-tables.ts'
import { type AfterCommit, type Reader, read, type Writer, write } from '../../store/transact.ts'
import { byText } from '../access.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import type { NewTeam, TeamChange, TeamRecord, TeamRegistry, TeamSource, TeamsSet } from '../shares-api.ts'
import { emitTeamChange } from './share-events.ts'
import { changeMembers, enabledIds, memberIds, sharedThings, teamSize } from './team-members.ts'
import { endSources, isOfSource, setTeamsOf, sourceOf } from './team-sources.ts'

/** Teams in the store. */
export class Teams implements TeamRegistry {
  readonly #deps: RegistryDeps

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  list(actor: Actor): Promise<readonly TeamRecord[]> {
    return read(this.#deps.store, async db => {
      const rows = await db.selectFrom('team').selectAll().orderBy('name_key').execute()
      return Promise.all(rows.map(row => this.#record(db, actor, row)))
    })
  }

  get(actor: Actor, name: string): Promise<TeamRecord> {
    return read(this.#deps.store, async db => this.#record(db, actor, await teamRow(db, name)))
  }

  async create(actor: Actor, name: string, { members = [], source = null }: NewTeam): Promise<TeamRecord> {
    requireAdmin(actor)
    const checked = checkedName(name)
    if (source) refuseMembers(members)
    const row = {
      ...{ id: randomUUID(), name: checked.name, name_key: checked.key, created_at: timestamp(this.#deps) },
      ...sourceColumns(source),
    }
    return this.#write(checked.name, async (trx, after) => {
      const count = await trx
        .selectFrom('team')
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count.count) >= LIMITS.teams)
        throw new HubError('quota_shares', `The hub has at most ${LIMITS.teams} teams`)
      await trx.insertInto('team').values(row).execute()
      after(() => this.#deps.shares.setSource(row.id, source))
      await this.#setMembers(trx, after, row, members)
      return this.#record(trx, actor, row)
    })
  }

  async update(actor: Actor, name: string, change: TeamChange): Promise<TeamRecord> {
    requireAdmin(actor)
    const renamed = change.name === undefined ? undefined : checkedName(change.name)
    return this.#write(renamed?.name ?? name, async (trx, after) => {
      const row = await teamRow(trx, name)
      const source = change.source === undefined ? sourceOf(row) : change.source
      if (source) refuseMembers(change.members)
      const named = renamed ? { name: renamed.name, name_key: renamed.key } : {}
      const next = { ...row, ...named, ...sourceColumns(source) }
      await trx.updateTable('team').set(next).where('id', '=', row.id).execute()
      after(() => this.#deps.shares.setSource(row.id, source))
      if (renamed && renamed.name !== row.name) {
        const data = { teamId: row.id, name: renamed.name, before: row.name }
        after(() => this.#deps.bus.emit('team.renamed', null, data))
      }
      // Members by another source are none by this one.
      if (source && !isOfSource(row, source)) await this.#setMembers(trx, after, row, [])
      if (change.members) await this.#setMembers(trx, after, row, change.members)
      return this.#record(trx, actor, await teamById(trx, row.id))
    })
  }

  async named(name: string): Promise<Pick<TeamRecord, 'id' | 'name'> | undefined> {
    const found = await read(this.#deps.store, db => findTeam(db, name))
    return found && { id: found.id, name: found.name }
  }

  byId(teamId: string): Promise<Pick<TeamRecord, 'id' | 'name'> | undefined> {
    return read(this.#deps.store, db =>
      db.selectFrom('team').select(['id', 'name']).where('id', '=', teamId).executeTakeFirst(),
    )
  }

  membersOf(teamId: string): Promise<readonly string[]> {
    return read(this.#deps.store, db => enabledIds(db, teamId))
  }

  of(userId: string): readonly string[] {
    return this.#deps.shares.teamsOf(userId)
  }

  setOf(userId: string, provider: string, groups: readonly string[]): Promise<TeamsSet> {
    return setTeamsOf(this.#deps, userId, provider, groups)
  }

  endSources(isOver: (provider: string) => boolean): Promise<readonly string[]> {
    return endSources(this.#deps, isOver)
  }

  async remove(actor: Actor, name: string): Promise<void> {
    requireAdmin(actor)
    await write(this.#deps.store, async (trx, after) => {
      const row = await teamRow(trx, name)
      const members = await memberIds(trx, row.id)
      const things = await sharedThings(trx, row.id)
      await trx.deleteFrom('team').where('id', '=', row.id).execute()
      after(() => {
        this.#deps.shares.forgetSubject({ kind: 'team', id: row.id })
        emitTeamChange(this.#deps, `team:${row.name}`, things, { users: members, isMember: false })
        this.#deps.bus.emit('team.removed', null, { teamId: row.id, name: row.name })
      })
    })
  }

  async #setMembers(trx: Writer, after: AfterCommit, row: TeamTable, names: readonly string[]): Promise<void> {
    const wanted = await usersNamed(trx, names)
    const before = new Set(await memberIds(trx, row.id))
    const joined = [...wanted].filter(id => !before.has(id))
    const left = [...before].filter(id => !wanted.has(id))
    await changeMembers(this.#deps, { trx, after }, row, { joined, left })
  }

  async #record(db: Reader, actor: Actor, row: TeamTable): Promise<TeamRecord> {
    const { id, name, created_at: createdAt } = row
    const source = sourceOf(row)
    const isInside = isAdmin(actor) || (actor.kind === 'user' && this.#deps.shares.isMember(id, actor.userId))
    if (!isInside) return { id, name, size: await teamSize(db, id), createdAt }
    const users = await db
      .selectFrom('team_member')
      .innerJoin('user', 'user.id', 'team_member.user_id')
      .select(['user.name', 'user.number'])
      .where('team_id', '=', id)
      .execute()
    const members = users.map(user => user.name ?? `#${user.number}`).sort(byText)
    return { id, name, size: members.length, members, ...(source ? { source } : {}), createdAt }
  }

  async #write<T>(name: string, work: (trx: Writer, after: AfterCommit) => Promise<T>): Promise<T> {
    try {
      return await write(this.#deps.store, work)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      throw new HubError('name_taken', `There is a team ${quoteName(name)} already`)
    }
  }
}

function requireAdmin(actor: Actor): void {
  if (!isAdmin(actor)) throw new HubError('admin_only', 'Only administrators write teams')
}

function refuseMembers(members: readonly string[] | undefined): void {
  if (members === undefined || members.length === 0) return
  const detail = 'The members of a team with a source are set by their sign-ins'
  throw validationError([{ pointer: '#/members', code: 'unknown_field', detail }], 'The team cannot be saved')
}

function sourceColumns(source: TeamSource | null): Pick<TeamTable, 'source_provider' | 'source_group'> {
  return { source_provider: source?.provider ?? null, source_group: source?.group ?? null }
}

function checkedName(input: string) {
  const checked = checkName('team', input)
  if (isNameProblem(checked)) throw validationError([{ pointer: '#/name', ...checked }])
  return checked
}

function findTeam(db: Reader, name: string): Promise<TeamTable | undefined> {
  return db.selectFrom('team').selectAll().where('name_key', '=', nameKey(name)).executeTakeFirst()
}

async function teamRow(db: Reader, name: string): Promise<TeamTable> {
  const row = await findTeam(db, name)
  if (row) return row
  throw new HubError('team_not_found', `There is no team ${quoteName(name)}`)
}

function teamById(db: Reader, id: string): Promise<TeamTable> {
  return db.selectFrom('team').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** Throws `quota_shares`, `validation_failed` for a name that nobody has. */
async function usersNamed(db: Reader, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length > LIMITS.teamMembers)
    throw new HubError('quota_shares', `A team has at most ${LIMITS.teamMembers} members`)
  const found = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, name] of names.entries()) {
    const row = await db.selectFrom('user').select('id').where('name_key', '=', nameKey(name)).executeTakeFirst()
    if (row) found.add(row.id)
    else errors.push({ pointer: `#/members/${index}`, code: 'enum', detail: `There is no user ${quoteName(name)}` })
  }
  if (errors.length > 0) throw validationError(errors, 'The team cannot be saved')
  return found
}
