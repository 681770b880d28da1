import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { type FieldError, HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { Actor, UserActor } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { canEdit, makersBy } from '../../domain/ownership.ts'
import { hasHidden } from '../../domain/text/visible-text.ts'
import { parseTime } from '../../domain/timestamp.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { AccessKeyTable, UserTable } from '../../store/people-tables.ts'
import { type Reader, read, type Writer, write } from '../../store/transact.ts'
import { UseTimes } from '../../store/use-times.ts'
import type { KeyRecord, KeyRegistry, NewKey } from '../api.ts'
import { type RegistryDeps, timestamp } from '../context.ts'
import { fileOwner, ownerOf, userById } from '../owners.ts'
import { keyRecord, storedReach } from '../rows.ts'
import { withinStoredBytes } from '../stored-bytes.ts'
import { boundedExpiry, refuseWiderKey } from './key-bounds.ts'
import { publicScopes, readScopes } from './key-scopes.ts'
import { visibleUser } from './user-rows.ts'

const LABEL_CHARACTERS = 100
/** Keys that made a key, made the one that made it, and so on, or that were replaced by it. */
const MOST_MAKERS = 50

/** Access keys in the store. */
export class Keys implements KeyRegistry {
  readonly #deps: RegistryDeps
  readonly #uses: UseTimes

  constructor(deps: RegistryDeps) {
    this.#deps = deps
    const store = (uses: readonly (readonly [string, string])[]) =>
      write(deps.store, async trx => {
        for (const [id, at] of uses) {
          await trx.updateTable('access_key').set({ last_used_at: at }).where('id', '=', id).execute()
        }
      })
    this.#uses = new UseTimes(store, () => deps.now?.() ?? new Date())
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
      const scopes = await readScopes(trx, actor, input.scopes, { errors, shares: this.#deps.shares })
      if (errors.length > 0) throw validationError(errors, 'The access key cannot be made')
      refuseWiderKey(actor, { ownerId, scopes, expiresAt })
      const reach = { scopes, ...makersBy(actor) }
      refuseLongDescent(reach)
      await checkQuota(trx, ownerId)
      const secret = newSecret()
      const row: AccessKeyTable = {
        ...{ id: randomUUID(), owner_id: ownerId, label: input.label, scopes: storedReach(reach) },
        ...secretColumns(secret),
        ...{ expires_at: expiresAt, last_used_at: null, created_at: timestamp(this.#deps) },
      }
      const owner = await userById(trx, ownerId)
      const insert = () => trx.insertInto('access_key').values(row).execute()
      await (owner ? withinStoredBytes(trx, ownerOf(owner), insert) : insert())
      after(() => this.#deps.bus.emit('key.created', ownerId, { keyId: row.id }))
      return newKey(trx, row, secret, { actor, shares: this.#deps.shares })
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
      // Scopes are resolved as the owner sees servers and groups, so that the key gives no further access.
      const self: Actor = { ...asUser(owner), credential: { kind: 'local' } }
      const scopes = await readScopes(trx, self, input.scopes, { errors, shares: this.#deps.shares })
      if (errors.length > 0) throw validationError(errors, 'The access key cannot be taken over')
      await checkQuota(trx, ownerId)
      const columns = secretColumns(secret)
      const known = await trx.selectFrom('access_key').select('id').where('hash', '=', columns.hash).executeTakeFirst()
      if (known) throw new HubError('name_taken', 'There is an access key with this secret already')
      const row: AccessKeyTable = {
        ...{ id: randomUUID(), owner_id: ownerId, label: input.label, scopes: storedReach({ scopes }), ...columns },
        ...{ expires_at: input.expiresAt ?? null, last_used_at: null, created_at: timestamp(this.#deps) },
      }
      const insert = () => trx.insertInto('access_key').values(row).execute()
      await withinStoredBytes(trx, ownerOf(owner), insert)
      after(() => this.#deps.bus.emit('key.created', ownerId, { keyId: row.id }))
      return keyRecord(row)
    })
  }

  async rotate(actor: Actor, id: string, overlapMs = 0): Promise<NewKey> {
    return write(this.#deps.store, async (trx, after) => {
      const row = await visibleKey(trx, actor, id)
      refuseEnded(row, timestamp(this.#deps))
      refuseWiderKey(actor, { ownerId: row.owner_id, scopes: keyRecord(row).scopes, expiresAt: row.expires_at })
      const secret = newSecret()
      const columns = { scopes: rotatedReach(actor, row, overlapMs > 0), ...secretColumns(secret) }
      const rotated = { ...row, ...columns, last_used_at: null }
      if (overlapMs > 0) await this.#addBeside(trx, row, rotated, overlapMs)
      else await trx.updateTable('access_key').set(rotated).where('id', '=', id).execute()
      // The old secret is invalid or has another end, so `key.removed` ends everything that uses it.
      after(() => {
        if (overlapMs <= 0) this.#uses.forget(id)
        this.#deps.bus.emit('key.removed', row.owner_id, { keyId: id })
        this.#deps.bus.emit('key.created', row.owner_id, { keyId: rotated.id })
      })
      return newKey(trx, rotated, secret, { actor, shares: this.#deps.shares })
    })
  }

  /** Stores `rotated` as a separate key, and lets the old one expire after `overlapMs` unless it ends before. */
  async #addBeside(trx: Writer, old: AccessKeyTable, rotated: AccessKeyTable, overlapMs: number): Promise<void> {
    await checkQuota(trx, old.owner_id)
    const end = new Date((this.#deps.now?.() ?? new Date()).getTime() + overlapMs).toISOString()
    const expires_at = old.expires_at !== null && old.expires_at < end ? old.expires_at : end
    await trx.updateTable('access_key').set({ expires_at }).where('id', '=', old.id).execute()
    Object.assign(rotated, { id: randomUUID(), created_at: timestamp(this.#deps) })
    const owner = await userById(trx, old.owner_id)
    const insert = () => trx.insertInto('access_key').values(rotated).execute()
    await (owner ? withinStoredBytes(trx, ownerOf(owner), insert) : insert())
  }

  async remove(actor: Actor, id: string): Promise<KeyRecord> {
    return write(this.#deps.store, async (trx, after) => {
      const row = await visibleKey(trx, actor, id)
      await trx.deleteFrom('access_key').where('id', '=', id).execute()
      after(() => {
        this.#uses.forget(id)
        this.#deps.bus.emit('key.removed', row.owner_id, { keyId: id })
      })
      return keyRecord(row)
    })
  }

  async byHash(hash: string): Promise<KeyRecord | undefined> {
    const row = await read(this.#deps.store, db =>
      db.selectFrom('access_key').selectAll().where('hash', '=', hash).executeTakeFirst(),
    )
    return row && keyRecord(row)
  }

  behind(ownerId: string): Promise<ReadonlySet<string>> {
    return read(this.#deps.store, async db => {
      const keys = await db.selectFrom('access_key').selectAll().where('owner_id', '=', ownerId).execute()
      const records = await db.selectFrom('owned_setting').select('body').where('owner_id', '=', ownerId).execute()
      const made = records.map(({ body }) => JSON.parse(body) as Pick<KeyRecord, 'makers'>)
      return new Set([
        ...keys.map(({ id }) => id),
        ...[...keys.map(keyRecord), ...made].flatMap(({ makers = [] }) => makers),
      ])
    })
  }

  touch(id: string): void {
    this.#uses.touch(id)
  }

  /** Writes collected uses. */
  flush(): Promise<void> {
    return this.#uses.flush()
  }

  close(): Promise<void> {
    return this.#uses.close()
  }

  publicScopes(actor: Actor, key: KeyRecord): Promise<readonly JsonValue[]> {
    const { store, shares } = this.#deps
    return read(store, db => publicScopes(db, key, { actor, shares }))
  }

  #expiry(text: string | undefined, errors: FieldError[]): string | null {
    if (text === undefined) return null
    const nowMs = (this.#deps.now?.() ?? new Date()).getTime()
    const at = parseTime(text, nowMs)
    const pointer = '#/expiresAt'
    if (at === undefined) {
      errors.push({
        pointer,
        code: 'timestamp',
        detail:
          '"expiresAt" must be an ISO 8601 time with its zone, such as 2027-01-31T00:00:00Z, or by now, such as now+30d',
      })
      return null
    }
    if (at <= nowMs) {
      errors.push({ pointer, code: 'range', detail: '"expiresAt" lies in the past' })
    }
    return new Date(at).toISOString()
  }
}

/** Reads within the writing transaction: after the commit, a failed read would lose the secret of a saved key. */
async function newKey(
  db: Reader,
  row: AccessKeyTable,
  secret: string,
  by: Parameters<typeof publicScopes>[2],
): Promise<NewKey> {
  const key = keyRecord(row)
  return { key, secret, scopes: await publicScopes(db, key, by) }
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
  } else if (label.trim() !== label || hasHidden(label)) {
    errors.push({
      pointer: '#/label',
      code: 'format',
      detail: 'A label has no control characters or others that cannot be seen, and no space at its ends',
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

/** A key that replaces another, or gives it a new secret, is among those from which the rotated one descends. */
function rotatedReach(actor: Actor, row: AccessKeyTable, isReplaced: boolean): string {
  const { id, scopes, makers = [] } = keyRecord(row)
  const behind = new Set([...makers, ...(makersBy(actor).makers ?? [])])
  behind.delete(id)
  const reach = { scopes, makers: isReplaced ? [...behind, id] : [...behind] }
  refuseLongDescent(reach)
  return storedReach(reach)
}

/** Throws `quota_keys` for a key that would descend from too many. */
function refuseLongDescent({ makers = [] }: Pick<KeyRecord, 'makers'>): void {
  if (makers.length <= MOST_MAKERS) return
  throw new HubError('quota_keys', `An access key descends from at most ${MOST_MAKERS} others`, {
    hint: 'Sign in, and make a new one.',
  })
}

/** A new secret would keep the key's end, and be useless; with another end it would revive a key that was left to expire. */
function refuseEnded({ label, expires_at: end }: AccessKeyTable, now: string): void {
  if (end === null || end > now) return
  throw new HubError('key_expired', `The access key ${quoteName(label)} has ended at ${end}`)
}
