import type { ErrorCode } from '../../contract/errors.ts'
import { HubError } from '../../contract/errors.ts'
import type { Actor, Role } from '../../contract/records.ts'
import { nameKey, parseRef, quoteName } from '../../domain/names.ts'
import { isAdmin } from '../../domain/ownership.ts'
import type { Reader } from '../../store/transact.ts'
import { fileOwner, type Owner, ownerOf, userById, userByName } from '../owners.ts'
import type { RecordKind } from '../record-kinds.ts'

/** Returns the owner that a request applies to: the actor or, for an administrator, the named user. */
export async function ownerFor(db: Reader, actor: Actor, named: string | undefined): Promise<Owner> {
  const own = actor.kind === 'user' ? await userById(db, actor.userId) : await fileOwner(db)
  if (!own) throw new HubError('token_revoked', 'The account behind this request does not exist any more')
  if (named === undefined) return ownerOf(own)
  const row = await userByName(db, named)
  if (row && (isAdmin(actor) || row.id === own.id)) return ownerOf(row)
  throw new HubError('user_not_found', `There is no user ${quoteName(named)}`)
}

/** Owner and key of a reference `name` or `owner~name`; a foreign one is answered as if it were missing. */
export async function placeOf(
  db: Reader,
  actor: Actor,
  ref: string,
  kind: Pick<RecordKind, 'missing' | 'label'>,
): Promise<{ readonly owner: Owner; readonly key: string }> {
  const { owner, name } = parseRef(ref)
  try {
    return { owner: await ownerFor(db, actor, owner), key: nameKey(name) }
  } catch (error) {
    if (error instanceof HubError && error.code === 'user_not_found') throw missingRecord(kind, ref)
    throw error
  }
}

/** Error for anything else that is missing or not visible. */
export function missing(code: ErrorCode, ref: string): HubError {
  const what = code.replace('_not_found', '').replace('_', ' ')
  return new HubError(code, `There is no ${what} ${quoteName(ref)}`)
}

/** Error for a record of this kind that is missing or not visible. */
export function missingRecord({ missing: code, label }: Pick<RecordKind, 'missing' | 'label'>, ref: string): HubError {
  return new HubError(code, `There is no ${label} ${quoteName(ref)}`)
}

/** A user's role now; undefined when there is no such user, or it is disabled. */
export async function roleOf(db: Reader, ownerId: string): Promise<Role | undefined> {
  const row = await userById(db, ownerId)
  return row && row.disabled === 0 ? row.role : undefined
}
