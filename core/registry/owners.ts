import { HubError } from '../contract/errors.ts'
import type { Actor, Role } from '../contract/records.ts'
import { nameKey, quoteName } from '../domain/names.ts'
import { isAdmin } from '../domain/ownership.ts'
import type { UserGrants } from '../domain/server/spawn-policy.ts'
import { validationError } from '../domain/validation-error.ts'
import type { UserTable } from '../store/people-tables.ts'
import type { Reader } from '../store/transact.ts'
import type { OwnerColumns } from './rows.ts'

/** An owner with the rights that its servers run with. */
export interface Owner {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly number: number
  readonly grants: UserGrants
}

/** The owner in a user's row; a user without a name is called `#number`. */
export function ownerOf(row: Pick<UserTable, 'id' | 'name' | 'number' | 'role' | 'network_grant'>): Owner {
  const { id, number, role } = row
  return { id, name: row.name ?? `#${number}`, role, number, grants: { network: row.network_grant } }
}

/** The owner in a joined row. */
export function rowOwner(row: OwnerColumns & { readonly owner_id: string }): Owner {
  return ownerOf({
    ...{ id: row.owner_id, name: row.owner_name, number: row.owner_number },
    ...{ role: row.owner_role, network_grant: row.owner_network },
  })
}

/** Undefined when there is no such user. */
export async function userById(db: Reader, id: string): Promise<UserTable | undefined> {
  return db.selectFrom('user').selectAll().where('id', '=', id).executeTakeFirst()
}

/** By name, ignoring letter case, or `#number` for the first user before set-up. */
export async function userByName(db: Reader, name: string): Promise<UserTable | undefined> {
  const number = /^#(\d{1,9})$/.exec(name)?.[1]
  const users = db.selectFrom('user').selectAll()
  if (number === undefined) return users.where('name_key', '=', nameKey(name)).executeTakeFirst()
  return users.where('number', '=', Number(number)).where('name', 'is', null).executeTakeFirst()
}

/** The owner of plain entries of the settings file: the first user, or the user who took over its servers. */
export async function fileOwner(db: Reader): Promise<UserTable> {
  const setting = await db
    .selectFrom('setting')
    .select('value')
    .where('scope', '=', 'internal')
    .where('key', '=', 'fileOwner')
    .executeTakeFirst()
  const named = setting && (await userById(db, JSON.parse(setting.value) as string))
  if (named) return named
  const users = await db.selectFrom('user').selectAll().orderBy('number').execute()
  const first = users.find(user => user.role === 'admin') ?? users[0]
  if (!first) throw new HubError('internal', 'The user table is empty')
  return first
}

/**
 * Chooses an owner: `wanted` (a user's name in the body), else `current`, else the actor. Throws `field_forbidden` when an
 * ordinary user names another user, `validation_failed` for an unknown name.
 */
export async function chooseOwner(
  db: Reader,
  actor: Actor,
  wanted: string | undefined,
  current: Owner | undefined,
): Promise<Owner> {
  const fallback = current ?? (await actorOwner(db, actor))
  if (wanted === undefined || nameKey(wanted) === nameKey(fallback.name)) return fallback
  if (!isAdmin(actor)) throw new HubError('field_forbidden', 'Only administrators give a thing another owner ("owner")')
  const row = await userByName(db, wanted)
  if (row) return ownerOf(row)
  const detail = `There is no user ${quoteName(wanted)} to own it`
  throw validationError([{ pointer: '#/owner', code: 'enum', detail }])
}

async function actorOwner(db: Reader, actor: Actor): Promise<Owner> {
  const row = actor.kind === 'user' ? await userById(db, actor.userId) : await fileOwner(db)
  if (!row) throw new HubError('token_revoked', 'The account behind this request does not exist any more')
  return ownerOf(row)
}
