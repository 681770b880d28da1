import { HubError } from '../../contract/errors.ts'
import type { Actor, Role } from '../../contract/records.ts'
import { checkName, isNameProblem, nameKey, quoteName } from '../../domain/names.ts'
import { isAdmin } from '../../domain/ownership.ts'
import { validationError } from '../../domain/validation-error.ts'
import { isBearableBcrypt } from '../../secrets/bcrypt-form.ts'
import { isUniqueViolation } from '../../store/errors.ts'
import type { UserTable } from '../../store/people-tables.ts'
import { type AfterCommit, type Reader, read, type Writer, write } from '../../store/transact.ts'
import { byText, checkRevision, parseSort } from '../access.ts'
import type { ListQuery, UserChange, UserRecord, UserRegistry, WriteOptions } from '../api.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import { userById } from '../owners.ts'
import type { Possessions } from '../people-api.ts'
import { userRecord } from '../rows.ts'
import { leaveSources } from '../shares/team-sources.ts'
import { possessionsOf } from './possessions.ts'
import { removeUser } from './user-removal.ts'
import { capRightsOf, insertUser, lastAdmin, otherAdmins, usersBySetup, visibleUser } from './user-rows.ts'

/** Users in the store. */
export class Users implements UserRegistry {
  readonly #deps: RegistryDeps

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  async list(actor: Actor, query: ListQuery): Promise<readonly UserRecord[]> {
    refuseOthers(actor)
    const rows = await read(this.#deps.store, db => db.selectFrom('user').selectAll().execute())
    const { field, descending } = parseSort(query.sort ?? 'name', ['name', 'createdAt', 'updatedAt'])
    const column = field === 'createdAt' ? 'created_at' : field === 'updatedAt' ? 'updated_at' : 'name_key'
    const q = query.q?.toLowerCase()
    return rows
      .filter(row => row.name !== null && (q === undefined || row.name.toLowerCase().includes(q)))
      .sort((left, right) => byText(left[column] ?? '', right[column] ?? '') * (descending ? -1 : 1))
      .map(userRecord)
  }

  async byName(actor: Actor, name: string): Promise<UserRecord> {
    return userRecord(await read(this.#deps.store, db => visibleUser(db, actor, name)))
  }

  async possessions(actor: Actor, ids: readonly string[]): Promise<ReadonlyMap<string, Possessions>> {
    refuseOthers(actor)
    return read(this.#deps.store, db => possessionsOf(db, ids, timestamp(this.#deps)))
  }

  async byId(id: string): Promise<UserRecord | undefined> {
    const row = await read(this.#deps.store, db => userById(db, id))
    return row && userRecord(row)
  }

  async credentials(name: string): Promise<{ user: UserRecord; passwordHash: string | null } | undefined> {
    const key = nameKey(name)
    const row = await read(this.#deps.store, db =>
      db.selectFrom('user').selectAll().where('name_key', '=', key).executeTakeFirst(),
    )
    return row && { user: userRecord(row), passwordHash: row.password_hash }
  }

  async needsSetup(): Promise<boolean> {
    return read(this.#deps.store, needsSetup)
  }

  async completeSetup(name: string, passwordHash: string): Promise<UserRecord> {
    const checked = checkedName(name)
    return this.#write(name, async (trx, after) => {
      if (!(await needsSetup(trx))) throw new HubError('route_not_found', 'The hub is set up already')
      const first = await usersBySetup(trx)
      const change = { ...checked, passwordHash, role: 'admin', disabled: 0 } as const
      const row = first
        ? await this.#fill(trx, first, change)
        : await insertUser(this.#deps, trx, { ...change, disabled: false, origin: 'store', mustChangePassword: false })
      after(() => this.#emit(first ? 'user.updated' : 'user.created', row))
      return userRecord(row)
    })
  }

  async create(
    actor: Actor,
    input: {
      name: string
      passwordHash: string | null
      role: Role
      mustChangePassword?: boolean
      disabled?: boolean
    },
  ): Promise<UserRecord> {
    refuseOthers(actor)
    const checked = checkedName(input.name)
    return this.#write(checked.name, async (trx, after) => {
      const { passwordHash, role, mustChangePassword = false, disabled = false } = input
      const user = { ...checked, passwordHash, role, mustChangePassword, disabled, origin: 'store' } as const
      const row = await insertUser(this.#deps, trx, user)
      after(() => this.#emit('user.created', row))
      return userRecord(row)
    })
  }

  async update(actor: Actor, name: string, change: UserChange, options: WriteOptions = {}): Promise<UserRecord> {
    const renamed = change.name === undefined ? undefined : checkedName(change.name)
    return this.#write(change.name ?? name, async (trx, after) => {
      const row = await visibleUser(trx, actor, name)
      if (!isAdmin(actor)) throw new HubError('field_forbidden', 'Only administrators change users')
      checkRevision('user', row, options)
      await refuseFileFields(trx, row, change, renamed?.key)
      const next = changedUser(row, change, renamed)
      if (isActiveAdmin(row) && !isActiveAdmin(next)) await keepAnAdmin(trx, row)
      if (row.role !== 'admin' && next.role === 'admin') await capRightsOf(trx, row, this.#deps.kinds)
      if (row.disabled === 0 && next.disabled === 1) await leaveSources(this.#deps, { trx, after }, row.id)
      return this.#save(trx, after, row, next)
    })
  }

  async remove(actor: Actor, name: string, options: { transferTo?: string; cascade?: boolean }): Promise<void> {
    refuseOthers(actor)
    const row = await read(this.#deps.store, db => visibleUser(db, actor, name))
    await removeUser(this.#deps, row, options)
  }

  async setPassword(userId: string, passwordHash: string): Promise<UserRecord> {
    return write(this.#deps.store, async (trx, after) => {
      const row = await userById(trx, userId)
      if (!row) throw new HubError('user_not_found', 'The user does not exist any more')
      const next = { ...row, password_hash: passwordHash, must_change_password: 0, token_epoch: row.token_epoch + 1 }
      return this.#save(trx, after, row, next)
    })
  }

  async setSecondFactor(
    userId: string,
    { plugin, on, endSignIns }: { readonly plugin: string; readonly on: boolean; readonly endSignIns: boolean },
  ): Promise<UserRecord> {
    return write(this.#deps.store, async (trx, after) => {
      const row = await userById(trx, userId)
      if (!row) throw new HubError('user_not_found', 'The user does not exist any more')
      const epoch = row.token_epoch + (endSignIns ? 1 : 0)
      return this.#save(trx, after, row, { ...row, second_factor: on ? plugin : null, token_epoch: epoch })
    })
  }

  async rehash(
    userId: string,
    passwordHash: string,
    { mustChange = false }: { readonly mustChange?: boolean } = {},
  ): Promise<void> {
    const change = { password_hash: passwordHash, ...(mustChange ? { must_change_password: 1 } : {}) }
    await read(this.#deps.store, db => db.updateTable('user').set(change).where('id', '=', userId).execute())
  }

  async hasImportedHashes(): Promise<boolean> {
    const rows = await read(this.#deps.store, db =>
      db.selectFrom('user').select('password_hash').where('password_hash', 'like', '$2%').execute(),
    )
    return rows.some(row => isBearableBcrypt(row.password_hash ?? ''))
  }

  async #save(trx: Writer, after: AfterCommit, row: UserTable, next: UserTable): Promise<UserRecord> {
    const saved = { ...next, revision: row.revision + 1, updated_at: timestamp(this.#deps) }
    const { numUpdatedRows } = await trx
      .updateTable('user')
      .set(saved)
      .where('id', '=', row.id)
      .where('revision', '=', row.revision)
      .executeTakeFirst()
    if (Number(numUpdatedRows) === 0) throw new HubError('storage_busy', 'The user was changed at the same moment')
    after(() => this.#emit('user.updated', saved))
    return userRecord(saved)
  }

  async #fill(
    trx: Writer,
    row: UserTable,
    change: { name: string; key: string; passwordHash: string; role: Role; disabled: number },
  ): Promise<UserTable> {
    const { name, key, passwordHash, role, disabled } = change
    if (row.role !== 'admin' && role === 'admin') await capRightsOf(trx, row, this.#deps.kinds)
    const filled = { ...row, name, name_key: key, password_hash: passwordHash, role, disabled }
    const saved = { ...filled, revision: row.revision + 1, updated_at: timestamp(this.#deps) }
    await trx.updateTable('user').set(saved).where('id', '=', row.id).execute()
    return saved
  }

  async #write<T>(name: string, work: (trx: Writer, after: AfterCommit) => Promise<T>): Promise<T> {
    try {
      return await write(this.#deps.store, work)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      const detail = `There is already a user named ${quoteName(name)}`
      throw new HubError('username_taken', detail, { errors: [{ pointer: '#/name', code: 'duplicate', detail }] })
    }
  }

  #emit(event: 'user.created' | 'user.updated', row: UserTable): void {
    const disabled = row.disabled === 1 ? ({ disabled: true } as const) : {}
    this.#deps.bus.emit(event, row.id, { userId: row.id, name: userRecord(row).name, ...disabled })
  }
}

/** Set-up is open while no administrator can sign in. */
async function needsSetup(db: Reader): Promise<boolean> {
  const admin = await db
    .selectFrom('user')
    .select('id')
    .where('role', '=', 'admin')
    .where('password_hash', 'is not', null)
    .where('name', 'is not', null)
    .executeTakeFirst()
  return admin === undefined
}

function refuseOthers(actor: Actor): void {
  if (!isAdmin(actor)) throw new HubError('admin_only', 'Only administrators manage users')
}

function checkedName(name: string): { name: string; key: string } {
  const checked = checkName('user', name)
  if (isNameProblem(checked)) throw validationError([{ pointer: '#/name', ...checked }])
  return checked
}

async function keepAnAdmin(db: Reader, row: UserTable): Promise<void> {
  if ((await otherAdmins(db, row.id)) === 0) throw lastAdmin(userRecord(row).name)
}

/** Fields from the settings file are changed there; so is a name by which the file refers to an owner. */
async function refuseFileFields(
  db: Reader,
  row: UserTable,
  change: UserChange,
  newKey: string | undefined,
): Promise<void> {
  const renames = newKey !== undefined && newKey !== row.name_key
  const roleChanges = change.role !== undefined && change.role !== row.role
  if (row.origin === 'file' && (renames || roleChanges)) {
    throw new HubError(
      'settings_read_only',
      `Name and role of ${quoteName(row.name ?? '')} are held by the settings file`,
    )
  }
  if (!renames) return
  const held = await db
    .selectFrom('server')
    .select('id')
    .where('owner_id', '=', row.id)
    .where('origin', '=', 'file')
    .where('config', 'like', '%"file":{"owner":%')
    .executeTakeFirst()
  if (!held) return
  const message = `The settings file names ${quoteName(row.name ?? '')} as an owner; change the name there as well, and first`
  throw new HubError('settings_read_only', message)
}

function isActiveAdmin({ role, disabled }: Pick<UserTable, 'role' | 'disabled'>): boolean {
  return role === 'admin' && disabled === 0
}

/** The row of a user after a change. Every reduction of rights and every new password ends earlier sign-ins. */
function changedUser(
  row: UserTable,
  { passwordHash, mustChangePassword, grants, ...change }: UserChange,
  renamed: ReturnType<typeof checkedName> | undefined,
): UserTable {
  const role = change.role ?? row.role
  const disabled = change.disabled ?? row.disabled === 1
  const narrower = (disabled && row.disabled === 0) || (row.role === 'admin' && role !== 'admin')
  return {
    ...row,
    ...(renamed ? { name: renamed.name, name_key: renamed.key } : {}),
    ...(passwordHash === undefined ? {} : { password_hash: passwordHash }),
    ...(mustChangePassword === undefined ? {} : { must_change_password: mustChangePassword ? 1 : 0 }),
    ...(grants === undefined ? {} : { network_grant: grants.network }),
    role,
    disabled: disabled ? 1 : 0,
    token_epoch: row.token_epoch + (narrower || passwordHash !== undefined ? 1 : 0),
  }
}
