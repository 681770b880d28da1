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
import type { SharedKind, ShareTarget, TeamRecord, TeamRegistry } from '../shares-api.ts'
import { emitTeamChange } from './share-events.ts'

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

  async create(actor: Actor, name: string, members: readonly string[]): Promise<TeamRecord> {
    requireAdmin(actor)
    const checked = checkedName(name)
    const row = { id: randomUUID(), name: checked.name, name_key: checked.key, created_at: timestamp(this.#deps) }
    return this.#write(checked.name, async (trx, after) => {
      const count = await trx
        .selectFrom('team')
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count.count) >= LIMITS.teams)
        throw new HubError('quota_shares', `The hub has at most ${LIMITS.teams} teams`)
      await trx.insertInto('team').values(row).execute()
      await this.#setMembers(trx, after, row, members)
      return this.#record(trx, actor, row)
    })
  }

  async update(
    actor: Actor,
    name: string,
    change: { readonly name?: string; readonly members?: readonly string[] },
  ): Promise<TeamRecord> {
    requireAdmin(actor)
    const renamed = change.name === undefined ? undefined : checkedName(change.name)
    return this.#write(renamed?.name ?? name, async (trx, after) => {
      const row = await teamRow(trx, name)
      const { id } = row
      if (renamed) {
        const columns = { name: renamed.name, name_key: renamed.key }
        await trx.updateTable('team').set(columns).where('id', '=', id).execute()
      }
      if (change.members) await this.#setMembers(trx, after, row, change.members)
      return this.#record(trx, actor, await teamById(trx, id))
    })
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
      })
    })
  }

  async #setMembers(trx: Writer, after: AfterCommit, row: TeamTable, names: readonly string[]): Promise<void> {
    const wanted = await usersNamed(trx, names)
    const before = new Set(await memberIds(trx, row.id))
    const joined = [...wanted].filter(id => !before.has(id))
    const left = [...before].filter(id => !wanted.has(id))
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
      for (const id of joined) this.#deps.shares.join(row.id, id)
      for (const id of left) this.#deps.shares.leave(row.id, id)
      const text = `team:${row.name}`
      emitTeamChange(this.#deps, text, things, { users: joined, isMember: true })
      emitTeamChange(this.#deps, text, things, { users: left, isMember: false })
    })
  }

  async #record(db: Reader, actor: Actor, { id, name, created_at: createdAt }: TeamTable): Promise<TeamRecord> {
    const rows = await db
      .selectFrom('team_member')
      .innerJoin('user', 'user.id', 'team_member.user_id')
      .select(['user.id', 'user.name', 'user.number'])
      .where('team_id', '=', id)
      .execute()
    const isInside = actor.kind === 'user' && rows.some(row => row.id === actor.userId)
    const members = rows.map(row => row.name ?? `#${row.number}`).sort(byText)
    return { id, name, size: rows.length, ...(isAdmin(actor) || isInside ? { members } : {}), createdAt }
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

function checkedName(input: string) {
  const checked = checkName('team', input)
  if (isNameProblem(checked)) throw validationError([{ pointer: '#/name', ...checked }])
  return checked
}

async function teamRow(db: Reader, name: string): Promise<TeamTable> {
  const row = await db.selectFrom('team').selectAll().where('name_key', '=', nameKey(name)).executeTakeFirst()
  if (row) return row
  throw new HubError('team_not_found', `There is no team ${quoteName(name)}`)
}

function teamById(db: Reader, id: string): Promise<TeamTable> {
  return db.selectFrom('team').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

async function memberIds(db: Reader, teamId: string): Promise<readonly string[]> {
  const rows = await db.selectFrom('team_member').select('user_id').where('team_id', '=', teamId).execute()
  return rows.map(row => row.user_id)
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

/** What is shared with a team. */
async function sharedThings(db: Reader, teamId: string) {
  const columns = ['user.name as owner_name', 'share.role'] as const
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
    const { id, name, owner_id: ownerId, owner_name: owner, role } = row
    return { target: { kind, id, name, ownerId, ownerName: owner ?? '' } satisfies ShareTarget, role }
  }
  return [...servers.map(shown('server')), ...groups.map(shown('group'))]
}
