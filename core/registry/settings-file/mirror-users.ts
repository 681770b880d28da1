import { createHash } from 'node:crypto'
import type { Role } from '../../contract/records.ts'
import { checkName, isNameProblem, quoteName } from '../../domain/names.ts'
import type { UserTable } from '../../store/people-tables.ts'
import type { FileState } from '../api.ts'
import { timestamp } from '../context.ts'
import { fileOwner } from '../owners.ts'
import {
  capRightsOf,
  insertUser,
  internalSetting,
  otherAdmins,
  setInternal,
  usersBySetup,
} from '../people/user-rows.ts'
import type { MirrorRun } from './mirror-run.ts'

type FileUser = FileState['users'][number]

/** Creates and updates the users of the file. Returns those that left it. */
export async function mirrorUsers(run: MirrorRun, users: readonly FileUser[]): Promise<UserTable[]> {
  const seen = new Set<string>()
  // Administrators first: the first of them becomes the unnamed first user.
  for (const user of [...users].sort((left, right) => rank(left.role) - rank(right.role))) {
    const checked = checkName('user', user.name)
    if (isNameProblem(checked)) {
      run.problems.push({ entry: `users[${quoteName(user.name)}]`, errors: [{ pointer: '#/username', ...checked }] })
    } else if (seen.has(checked.key)) {
      const detail = 'The settings file names the user twice; the first one counts'
      run.problems.push({
        entry: `users[${quoteName(user.name)}]`,
        errors: [{ pointer: '#/username', code: 'duplicate', detail }],
      })
    } else {
      seen.add(checked.key)
      await mirrorUser(run, checked, user)
    }
  }
  const named = await run.trx.selectFrom('user').selectAll().where('origin', '=', 'file').execute()
  return named.filter(row => row.name_key !== null && !seen.has(row.name_key))
}

function rank(role: Role): number {
  return role === 'admin' ? 0 : 1
}

async function mirrorUser(run: MirrorRun, { name, key }: { name: string; key: string }, user: FileUser): Promise<void> {
  const { trx, deps } = run
  const row = await trx.selectFrom('user').selectAll().where('name_key', '=', key).executeTakeFirst()
  const unnamed = row ? undefined : await usersBySetup(trx)
  const first = user.role === 'admin' && user.passwordHash !== undefined ? unnamed : undefined
  const present = row ?? first
  if (!present) {
    const { role, passwordHash = null } = user
    const made = await insertUser(deps, trx, {
      name,
      key,
      role,
      passwordHash,
      mustChangePassword: false,
      origin: 'file',
    })
    await rememberHash(run, made.id, user.passwordHash)
    emitUser(run, 'user.created', made)
    return
  }
  const role = await allowedRole(run, present, user)
  // The hash is applied only when it changes in the file: a password changed in the hub stays until then.
  const newHash = user.passwordHash !== undefined && (await rememberHash(run, present.id, user.passwordHash))
  const passwordHash = newHash ? (user.passwordHash ?? null) : present.password_hash
  const narrower = present.name !== null && (passwordHash !== present.password_hash || rank(role) > rank(present.role))
  const next: UserTable = {
    ...present,
    ...{ name, name_key: key, role, password_hash: passwordHash, origin: 'file' },
    token_epoch: present.token_epoch + (narrower ? 1 : 0),
  }
  if ((Object.keys(next) as (keyof UserTable)[]).every(column => next[column] === present[column])) return
  if (present.role !== 'admin' && role === 'admin') await capRightsOf(trx, present, run.deps.kinds)
  await save(run, next)
}

/** The role in the file, unless that would leave no administrator. */
async function allowedRole(run: MirrorRun, row: UserTable, user: FileUser): Promise<Role> {
  if (user.role === 'admin' || row.role !== 'admin' || row.disabled === 1) return user.role
  if ((await otherAdmins(run.trx, row.id)) > 0) return user.role
  const detail = `${quoteName(user.name)} is the last administrator and stays one`
  run.problems.push({
    entry: `users[${quoteName(user.name)}]`,
    errors: [{ pointer: '#/isAdmin', code: 'enum', detail }],
  })
  return 'admin'
}

/** True when the file's hash differs from the last run's. */
async function rememberHash(run: MirrorRun, userId: string, hash: string | undefined): Promise<boolean> {
  if (hash === undefined) return false
  const digest = createHash('sha256').update(hash).digest('hex')
  if ((await internalSetting(run.trx, `fileHash:${userId}`)) === digest) return false
  await setInternal(run.trx, `fileHash:${userId}`, digest, timestamp(run.deps))
  return true
}

/** Removes users that left the file, except owners of servers or groups, and the last administrator. */
export async function removeVanishedUsers(run: MirrorRun, users: readonly UserTable[]): Promise<void> {
  const { trx } = run
  const owner = await fileOwner(trx)
  for (const row of users) {
    const administers = row.role === 'admin' && (await otherAdmins(trx, row.id)) === 0
    if (row.id === owner.id || administers) {
      await save(run, { ...row, origin: 'store' })
      continue
    }
    if (await ownsThings(run, row.id)) {
      await save(run, { ...row, origin: 'store', disabled: 1, token_epoch: row.token_epoch + 1 })
      const detail =
        'The user left the settings file and owns servers or groups: the account is disabled, and they are kept'
      run.problems.push({
        entry: `users[${quoteName(row.name ?? '')}]`,
        errors: [{ pointer: '#', code: 'required', detail }],
      })
      continue
    }
    await trx.deleteFrom('setting').where('scope', '=', row.id).execute()
    const keys = await trx.deleteFrom('access_key').where('owner_id', '=', row.id).returning('id').execute()
    await trx.deleteFrom('user').where('id', '=', row.id).execute()
    run.applied.push(`users/${row.name}`)
    run.after(() => {
      for (const { id } of keys) run.deps.bus.emit('key.removed', row.id, { keyId: id })
      run.deps.bus.emit('user.removed', row.id, { userId: row.id, name: row.name ?? '' })
    })
  }
}

async function ownsThings(run: MirrorRun, userId: string): Promise<boolean> {
  const server = await run.trx.selectFrom('server').select('id').where('owner_id', '=', userId).executeTakeFirst()
  const group = await run.trx.selectFrom('server_group').select('id').where('owner_id', '=', userId).executeTakeFirst()
  return server !== undefined || group !== undefined
}

async function save(run: MirrorRun, next: UserTable): Promise<void> {
  const saved = { ...next, revision: next.revision + 1, updated_at: timestamp(run.deps) }
  await run.trx.updateTable('user').set(saved).where('id', '=', next.id).execute()
  emitUser(run, 'user.updated', saved)
}

function emitUser(run: MirrorRun, event: 'user.created' | 'user.updated', row: UserTable): void {
  run.applied.push(`users/${row.name}`)
  const disabled = row.disabled === 1 ? ({ disabled: true } as const) : {}
  run.after(() => run.deps.bus.emit(event, row.id, { userId: row.id, name: row.name ?? '', ...disabled }))
}
