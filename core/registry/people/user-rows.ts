import { randomUUID } from 'node:crypto'
import { HubError } from '../../contract/errors.ts'
import type { Actor, Origin, Role } from '../../contract/records.ts'
import { nameKey, quoteName } from '../../domain/names.ts'
import { canEdit } from '../../domain/ownership.ts'
import type { UserTable } from '../../store/people-tables.ts'
import type { Reader, Writer } from '../../store/transact.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import type { RecordKinds } from '../record-kinds.ts'

/** A user to be inserted; `key` is the case-folded name. */
export interface NewUser {
  readonly name: string
  readonly key: string
  readonly role: Role
  readonly passwordHash: string | null
  readonly mustChangePassword: boolean
  /** Default false. */
  readonly disabled?: boolean
  readonly origin: Origin
}

/** Adds a user with the next number. Numbers are never reused: process uids are derived from them. */
export async function insertUser(deps: Pick<RegistryDeps, 'now'>, trx: Writer, user: NewUser): Promise<UserTable> {
  const at = timestamp(deps)
  const row: UserTable = {
    id: randomUUID(),
    number: await nextNumber(trx, at),
    name: user.name,
    name_key: user.key,
    role: user.role,
    password_hash: user.passwordHash,
    token_epoch: 1,
    second_factor: null,
    disabled: user.disabled ? 1 : 0,
    must_change_password: user.mustChangePassword ? 1 : 0,
    network_grant: 'none',
    origin: user.origin,
    revision: 1,
    created_at: at,
    updated_at: at,
  }
  await trx.insertInto('user').values(row).execute()
  return row
}

/** One more than the highest number ever used, including deleted users. */
async function nextNumber(trx: Writer, at: string): Promise<number> {
  const { highest } = await trx
    .selectFrom('user')
    .select(({ fn }) => fn.max('number').as('highest'))
    .executeTakeFirstOrThrow()
  const kept = await internalSetting(trx, 'userNumber')
  const number = Math.max(Number(highest ?? 0), typeof kept === 'number' ? kept : 0) + 1
  await setInternal(trx, 'userNumber', number, at)
  return number
}

/** The first user while it has no name; the set-up sets the name. */
export async function usersBySetup(db: Reader): Promise<UserTable | undefined> {
  return db.selectFrom('user').selectAll().where('name', 'is', null).orderBy('number').executeTakeFirst()
}

/**
 * Call it before an ordinary user becomes an administrator: caps the rights of the user's servers, and of the records that act by
 * themselves, at the present ones, until each is confirmed. Their revisions change, so that a concurrent save is repeated and applies the
 * cap.
 */
export async function capRightsOf(trx: Writer, { id, network_grant }: UserTable, kinds: RecordKinds): Promise<void> {
  const held = trx
    .updateTable('server')
    .set(({ eb }) => ({ rights_cap: network_grant, revision: eb('revision', '+', 1) }))
    .where('owner_id', '=', id)
  await held.where('rights_cap', 'is', null).execute()
  if (network_grant === 'none') await held.where('rights_cap', '=', 'proxy').execute()
  const records = trx
    .updateTable('owned_setting')
    .set(({ eb }) => ({ limited: 1, revision: eb('revision', '+', 1) }))
    .where('owner_id', '=', id)
    // Records from the file can be changed only by those who may write the file.
    .where('origin', '=', 'api')
  // A kind that is not known now, of a plugin that does not run, may act.
  const shown = kinds.all().flatMap(({ kind, acts }) => (acts ? [] : [kind]))
  await (shown.length === 0 ? records : records.where('kind', 'not in', shown)).execute()
}

/** Number of other users who can administer the hub. */
export async function otherAdmins(db: Reader, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('user')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('role', '=', 'admin')
    .where('disabled', '=', 0)
    .where('password_hash', 'is not', null)
    .where('id', '!=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** A value for the registry's own use; no route shows it. */
export async function internalSetting(db: Reader, key: string): Promise<unknown> {
  const row = await db
    .selectFrom('setting')
    .select('value')
    .where('scope', '=', 'internal')
    .where('key', '=', key)
    .executeTakeFirst()
  return row && JSON.parse(row.value)
}

/** Writes a value of the hub's own, which the API does not show. */
export async function setInternal(trx: Writer, key: string, value: string | number, at: string): Promise<void> {
  const row = { value: JSON.stringify(value), secret: 0, updated_at: at }
  await trx
    .insertInto('setting')
    .values({ scope: 'internal', key, ...row })
    .onConflict(conflict => conflict.columns(['scope', 'key']).doUpdateSet(row))
    .execute()
}

/** The error when the last administrator would lose the role or be removed. */
export function lastAdmin(name: string): HubError {
  return new HubError('last_admin', `${JSON.stringify(name)} is the last administrator`)
}

/** The user by name: administrators see all, others only themselves. Throws `user_not_found`. */
export async function visibleUser(db: Reader, actor: Actor, name: string): Promise<UserTable> {
  const row = await db.selectFrom('user').selectAll().where('name_key', '=', nameKey(name)).executeTakeFirst()
  if (row && canEdit(actor, { ownerId: row.id })) return row
  throw new HubError('user_not_found', `There is no user ${quoteName(name)}`)
}
