import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { Actor, UserActor } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { canEdit } from '../../domain/ownership.ts'
import { parseTimestamp } from '../../domain/timestamp.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { AccessKeyTable, UserTable } from '../../store/tables.ts'
import { type Reader, read, write } from '../../store/transact.ts'
import type { KeyRecord, KeyRegistry, NewKey } from '../api.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import { fileOwner, ownerOf, userById } from '../owners.ts'
import { keyRecord } from '../rows.ts'
import { withinStoredBytes } from '../stored-bytes.ts'
import { boundedExpiry, refuseWiderKey } from './key-bounds.ts'
import { publicScopes, readScopes } from './key-scopes.ts'
import { visibleUser } from './user-rows.ts'

const LABEL_CHARACTERS = 100
/** A use is recorded at most this often per key, in milliseconds. */
const TOUCH_MS = 60_000
/** Uses are collected for this long before they are written, in milliseconds. */
const FLUSH_MS = 2_000

/** Access keys in the store. */
export class Keys implements KeyRegistry {
  readonly #deps: RegistryDeps
  readonly #touched = new Map<string, number>()
  readonly #pending = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  async list(actor: Actor, ownerName?: string): Promise<readonly KeyRecord[]> {
    const rows = await read(this.#deps.store, async db => {
      const ownerId = await keyOwner(db, actor, ownerName)
      return db.selectFrom('access_key').selectAll().where('owner_id', '=', ownerId).orderBy('created_at').execute()
    })
    return rows.map(keyRecord)
  }

  async create(
    actor: Actor,
    input: { label: string; scopes: readonly JsonValue[]; expiresAt?: string },
  ): Promise<NewKey> {
    const errors: FieldError[] = []
    checkLabel(input.label, errors)
    const expiresAt = boundedExpiry(actor, this.#expiry(input.expiresAt, errors), errors)
    return write(this.#deps.store, async (trx, after) => {
      const ownerId = await keyOwner(trx, actor, undefined)
      const scopes = await readScopes(trx, actor, input.scopes, errors)
      if (errors.length > 0) throw validationError(errors, 'The access key cannot be made')
      refuseWiderKey(actor, { scopes, expiresAt })
      await checkQuota(trx, ownerId)
      const secret = newSecret()
      const row: AccessKeyTable = {
        ...{ id: randomUUID(), owner_id: ownerId, label: input.label, scopes: JSON.stringify(scopes) },
        ...secretColumns(secret),
        ...{ expires_at: expiresAt, last_used_at: null, created_at: timestamp(this.#deps) },
      }
      const owner = await userById(trx, ownerId)
      const insert = () => trx.insertInto('access_key').values(row).execute()
      await (owner ? withinStoredBytes(trx, ownerOf(owner), insert) : insert())
      after(() => this.#deps.bus.emit('key.created', ownerId, { keyId: row.id }))
      return newKey(trx, row, secret)
    })
  }

  async adopt(
    actor: Actor,
    input: { ownerId: string; label: string; scopes: readonly JsonValue[]; secret: string; expiresAt?: string },
  ): Promise<KeyRecord> {
    const errors: FieldError[] = []
    checkLabel(input.label, errors)
    const { ownerId, secret } = input
    return write(this.#deps.store, async (trx, after) => {
      const owner = await userById(trx, ownerId)
      if (!owner || !canEdit(actor, { ownerId })) throw new HubError('user_not_found', 'The user does not exist')
      // As the owner sees servers and groups, so that the key opens nothing more.
      const self: Actor = { ...asUser(owner), credential: { kind: 'local' } }
      const scopes = await readScopes(trx, self, input.scopes, errors)
      if (errors.length > 0) throw validationError(errors, 'The access key cannot be taken over')
      await checkQuota(trx, ownerId)
      const columns = secretColumns(secret)
      const known = await trx.selectFrom('access_key').select('id').where('hash', '=', columns.hash).executeTakeFirst()
      if (known) throw new HubError('name_taken', 'There is an access key with this secret already')
      const row: AccessKeyTable = {
        ...{ id: randomUUID(), owner_id: ownerId, label: input.label, scopes: JSON.stringify(scopes), ...columns },
        ...{ expires_at: input.expiresAt ?? null, last_used_at: null, created_at: timestamp(this.#deps) },
      }
      const insert = () => trx.insertInto('access_key').values(row).execute()
      await withinStoredBytes(trx, ownerOf(owner), insert)
      after(() => this.#deps.bus.emit('key.created', ownerId, { keyId: row.id }))
      return keyRecord(row)
    })
  }

  async rotate(actor: Actor, id: string): Promise<NewKey> {
    return write(this.#deps.store, async (trx, after) => {
      const row = await visibleKey(trx, actor, id)
      refuseWiderKey(actor, { scopes: keyRecord(row).scopes, expiresAt: row.expires_at })
      const secret = newSecret()
      const rotated = { ...row, ...secretColumns(secret), last_used_at: null }
      await trx.updateTable('access_key').set(rotated).where('id', '=', id).execute()
      // The old secret is invalid, so `key.removed` ends everything that uses it.
      after(() => {
        this.#forget(id)
        this.#deps.bus.emit('key.removed', row.owner_id, { keyId: id })
        this.#deps.bus.emit('key.created', row.owner_id, { keyId: id })
      })
      return newKey(trx, rotated, secret)
    })
  }

  async remove(actor: Actor, id: string): Promise<void> {
    await write(this.#deps.store, async (trx, after) => {
      const row = await visibleKey(trx, actor, id)
      await trx.deleteFrom('access_key').where('id', '=', id).execute()
      after(() => {
        this.#forget(id)
        this.#deps.bus.emit('key.removed', row.owner_id, { keyId: id })
      })
    })
  }

  async byHash(hash: string): Promise<KeyRecord | undefined> {
    const row = await read(this.#deps.store, db =>
      db.selectFrom('access_key').selectAll().where('hash', '=', hash).executeTakeFirst(),
    )
    return row && keyRecord(row)
  }

  touch(id: string): void {
    const at = this.#deps.now?.() ?? new Date()
    if (at.getTime() - (this.#touched.get(id) ?? Number.NEGATIVE_INFINITY) < TOUCH_MS) return
    this.#touched.set(id, at.getTime())
    this.#pending.set(id, at.toISOString())
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // Only the shown time of use is lost, until the next use.
      this.flush().catch(() => undefined)
    }, FLUSH_MS).unref()
  }

  /** Writes collected uses. */
  async flush(): Promise<void> {
    const uses = [...this.#pending]
    this.#pending.clear()
    // Older entries no longer suppress a write; they include keys of deleted users.
    const old = (this.#deps.now?.() ?? new Date()).getTime() - TOUCH_MS
    for (const [id, atMs] of this.#touched) if (atMs <= old) this.#touched.delete(id)
    if (uses.length === 0) return
    await write(this.#deps.store, async trx => {
      for (const [id, at] of uses) {
        await trx.updateTable('access_key').set({ last_used_at: at }).where('id', '=', id).execute()
      }
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.flush()
  }

  publicScopes(key: KeyRecord): Promise<readonly JsonValue[]> {
    return read(this.#deps.store, db => publicScopes(db, key))
  }

  #forget(id: string): void {
    this.#touched.delete(id)
    this.#pending.delete(id)
  }

  #expiry(text: string | undefined, errors: FieldError[]): string | null {
    if (text === undefined) return null
    const at = parseTimestamp(text)
    const pointer = '#/expiresAt'
    if (at === undefined) {
      errors.push({
        pointer,
        code: 'timestamp',
        detail: '"expiresAt" must be an ISO 8601 time with its zone, such as 2027-01-31T00:00:00Z',
      })
      return null
    }
    if (at <= (this.#deps.now?.() ?? new Date()).getTime()) {
      errors.push({ pointer, code: 'range', detail: '"expiresAt" lies in the past' })
    }
    return new Date(at).toISOString()
  }
}

/** Reads within the writing transaction: after the commit, a failed read would lose the secret of a saved key. */
async function newKey(db: Reader, row: AccessKeyTable, secret: string): Promise<NewKey> {
  const key = keyRecord(row)
  return { key, secret, scopes: await publicScopes(db, key) }
}

function asUser({ id, name, role }: UserTable): Omit<UserActor, 'credential'> {
  return { kind: 'user', userId: id, name: name ?? '', role }
}

/** 256 random bits after the prefix by which secret scanners recognise the key. */
function newSecret(): string {
  return `pb_${randomBytes(32).toString('base64url')}`
}

function secretColumns(secret: string): Pick<AccessKeyTable, 'hash' | 'last4'> {
  return { hash: createHash('sha256').update(secret).digest('hex'), last4: secret.slice(-4) }
}

function checkLabel(label: string, errors: FieldError[]): void {
  const length = [...label].length
  if (length < 1 || length > LABEL_CHARACTERS) {
    errors.push({ pointer: '#/label', code: 'length', detail: `A label has 1 to ${LABEL_CHARACTERS} characters` })
  } else if (label.trim() !== label || /\p{C}/u.test(label)) {
    errors.push({
      pointer: '#/label',
      code: 'format',
      detail: 'A label has no control characters, and no space at its ends',
    })
  }
}

async function keyOwner(db: Reader, actor: Actor, named: string | undefined): Promise<string> {
  if (named === undefined) return actor.kind === 'user' ? actor.userId : (await fileOwner(db)).id
  return (await visibleUser(db, actor, named)).id
}

async function visibleKey(db: Reader, actor: Actor, id: string): Promise<AccessKeyTable> {
  const row = await db.selectFrom('access_key').selectAll().where('id', '=', id).executeTakeFirst()
  if (row && canEdit(actor, { ownerId: row.owner_id })) return row
  throw new HubError('key_not_found', `There is no access key ${quoteName(id)}`)
}

async function checkQuota(db: Reader, ownerId: string): Promise<void> {
  const { count } = await db
    .selectFrom('access_key')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('owner_id', '=', ownerId)
    .executeTakeFirstOrThrow()
  if (Number(count) < LIMITS.keysPerUser) return
  throw new HubError('quota_keys', `A user may have ${LIMITS.keysPerUser} access keys`)
}
