import { randomUUID } from 'node:crypto'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { formatRef, nameKey, quoteName } from '../../domain/names.ts'
import { isAdmin } from '../../domain/ownership.ts'
import { isUniqueViolation } from '../../store/errors.ts'
import type { Store } from '../../store/open.ts'
import type { OwnedSettingTable } from '../../store/tables.ts'
import { type Reader, read, type Writer, write } from '../../store/transact.ts'
import { type Owner, ownerOf, userById } from '../owners.ts'
import type { RecordKind } from '../record-kinds.ts'
import { withinStoredBytes } from '../stored-bytes.ts'
import { changedLimit, type SettingLimit, withLimit } from './limits.ts'
import { missingRecord, ownerFor, placeOf } from './place.ts'
import type { ReplaceOptions } from './records.ts'

/** A stored record of one kind. */
export interface OwnedSetting {
  readonly id: string
  /** The owner with the rights that the setting has: those of an ordinary user if it is `limited`. */
  readonly owner: Owner
  /** It was saved last with the rights of an ordinary user, and has no more, although its owner may be an administrator. */
  readonly limited: boolean
  readonly name: string
  readonly body: JsonObject
  readonly secrets: string | null
  readonly origin: 'api' | 'file'
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** Stored form of a body: the name by which it is found, and the encrypted part. */
export interface WrittenSetting {
  readonly name: string
  readonly body: JsonObject
  readonly secrets: string | null
  /** True if a mask replaces a part: the user who saves it did not see all of it. */
  readonly hidden?: boolean
}

/**
 * Converts a body to its stored form. `before`: the setting that it replaces; `place`: the place to which encrypted secrets are
 * bound.
 */
export type Prepare = (
  owner: Owner,
  place: { readonly owner: string; readonly record: string },
  before: OwnedSetting | undefined,
) => WrittenSetting

/** Records of one kind in the store, each in its owner's namespace. Others' are answered as if they were missing. */
export class OwnedSettings {
  readonly #store: Store
  readonly #kind: RecordKind
  readonly #changed: () => void

  /** `changed` runs after each write. */
  constructor(store: Store, kind: RecordKind, changed: () => void) {
    this.#store = store
    this.#kind = kind
    this.#changed = changed
  }

  /** The actor's own, or those of the named user for an administrator, by name. */
  list(actor: Actor, ownerName?: string): Promise<readonly OwnedSetting[]> {
    return read(this.#store, async db => {
      const owner = await ownerFor(db, actor, ownerName)
      const rows = await this.#rows(db).where('owner_id', '=', owner.id).orderBy('name_key').execute()
      return rows.map(row => settingOf(row, owner))
    })
  }

  get(actor: Actor, ref: string): Promise<OwnedSetting> {
    return read(this.#store, db => this.#find(db, actor, ref))
  }

  /** `unseen`: another user sent it, and its owner has not viewed it yet. */
  async create(
    actor: Actor,
    ownerName: string | undefined,
    prepare: Prepare,
    { unseen = false }: { readonly unseen?: boolean } = {},
  ): Promise<OwnedSetting> {
    const at = new Date().toISOString()
    return this.#write(async trx => {
      const account = await ownerFor(trx, actor, ownerName)
      const limited = account.role === 'admin' && this.#kind.acts && (unseen || !isAdmin(actor))
      const owner = withLimit(account, limited)
      const id = randomUUID()
      const { name, body, secrets } = prepare(owner, { owner: owner.id, record: id }, undefined)
      await this.#checkQuota(trx, account)
      const row: OwnedSettingTable = {
        ...{ id, owner_id: owner.id, kind: this.#kind.kind, name, name_key: nameKey(name) },
        ...{ body: JSON.stringify(body), secrets, origin: 'api', revision: 1, created_at: at, updated_at: at },
        limited: limited ? 1 : 0,
      }
      const insert = trx.insertInto('owned_setting').values(row)
      await withinStoredBytes(trx, account, () => this.#unique(name, () => insert.execute()))
      return settingOf(row, account)
    })
  }

  /** `limit`: the limit to restore in a rollback; by default it follows from this actor's save. Throws `review_required`. */
  async replace(
    actor: Actor,
    ref: string,
    prepare: Prepare,
    options: ReplaceOptions & { readonly limit?: SettingLimit } = {},
  ): Promise<OwnedSetting> {
    return this.#write(async trx => {
      const before = this.#unlocked(await this.#find(trx, actor, ref))
      if (options.ifRevision !== undefined && options.ifRevision !== before.revision) {
        const { revision, updatedAt: changedAt } = before
        throw new HubError('version_conflict', `${quoteName(before.name)} has revision ${revision} by now`, {
          data: { revision, changedAt, kind: this.#kind.kind, record: formatRef(before.owner.name, before.name) },
        })
      }
      const { id } = before
      const account = await ownerFor(trx, actor, before.owner.name)
      const place = { owner: account.id, record: id }
      const save = (owner: Owner) => prepare(owner, place, before)
      const { limited, written } = this.#kind.acts
        ? changedLimit({ actor, account, before, options }, save)
        : { limited: false, written: save(account) }
      const { name, body, secrets } = written
      const change = {
        ...{ name, name_key: nameKey(name), body: JSON.stringify(body), secrets, limited: limited ? 1 : 0 },
        ...{ revision: before.revision + 1, updated_at: new Date().toISOString() },
      }
      const update = trx.updateTable('owned_setting').set(change).where('id', '=', id)
      await withinStoredBytes(trx, account, () => this.#unique(name, () => update.execute()))
      const owner = withLimit(account, limited)
      return { ...before, owner, limited, name, body, secrets, revision: change.revision, updatedAt: change.updated_at }
    })
  }

  async remove(actor: Actor, ref: string, inTransaction: (trx: Writer, gone: OwnedSetting) => Promise<unknown>) {
    await this.#write(async trx => {
      const gone = this.#unlocked(await this.#find(trx, actor, ref))
      await inTransaction(trx, gone)
      await trx.deleteFrom('owned_setting').where('id', '=', gone.id).execute()
    })
  }

  async #find(db: Reader, actor: Actor, ref: string): Promise<OwnedSetting> {
    const { owner, key } = await placeOf(db, actor, ref, this.#kind)
    const row = await this.#rows(db).where('owner_id', '=', owner.id).where('name_key', '=', key).executeTakeFirst()
    if (!row) throw missingRecord(this.#kind, ref)
    return settingOf(row, owner)
  }

  /** Throws `setting_locked` for a setting from the settings file. */
  #unlocked(setting: OwnedSetting): OwnedSetting {
    if (setting.origin !== 'file') return setting
    throw new HubError(
      'setting_locked',
      `The ${this.#kind.label} ${quoteName(setting.name)} is held by the settings file`,
      {
        hint: `Change it in the section "${this.#kind.fileSection}" of the settings file.`,
      },
    )
  }

  #rows(db: Reader) {
    return db.selectFrom('owned_setting').selectAll().where('kind', '=', this.#kind.kind)
  }

  async #write<T>(work: (trx: Writer) => Promise<T>): Promise<T> {
    return write(this.#store, async (trx, after) => {
      after(this.#changed)
      return work(trx)
    })
  }

  async #unique(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      throw new HubError('name_taken', `There is a ${this.#kind.label} ${quoteName(name)} already`)
    }
  }

  async #checkQuota(trx: Writer, owner: Owner): Promise<void> {
    const { quota, most } = this.#kind
    if (owner.role === 'admin') return
    const rows = await this.#rows(trx).where('owner_id', '=', owner.id).execute()
    if (rows.length < most) return
    throw new HubError(quota, `A user may have ${most} of them, and ${quoteName(owner.name)} has ${rows.length}`)
  }
}

/** Settings of one kind whose owners' accounts are not disabled, for the hub itself. */
export async function activeSettings(
  db: Reader,
  { kind }: Pick<RecordKind, 'kind'>,
  { ownerId, id }: { readonly ownerId?: string | undefined; readonly id?: string } = {},
): Promise<readonly OwnedSetting[]> {
  let query = db.selectFrom('owned_setting').selectAll().where('kind', '=', kind)
  if (ownerId !== undefined) query = query.where('owner_id', '=', ownerId)
  if (id !== undefined) query = query.where('id', '=', id)
  const rows = await query.orderBy('created_at').orderBy('id').execute()
  const owners = new Map<string, Owner | undefined>()
  for (const { owner_id: userId } of rows) {
    if (owners.has(userId)) continue
    const user = await userById(db, userId)
    owners.set(userId, user?.disabled === 0 ? ownerOf(user) : undefined)
  }
  return rows.flatMap(row => {
    const owner = owners.get(row.owner_id)
    return owner ? [settingOf(row, owner)] : []
  })
}

/** A stored row as a setting. */
export function settingOf(row: OwnedSettingTable, owner: Owner): OwnedSetting {
  const { id, name, secrets, origin, revision, created_at: createdAt, updated_at: updatedAt } = row
  const limited = row.limited === 1
  const body = JSON.parse(row.body) as JsonObject
  return {
    ...{ id, owner: withLimit(owner, limited), limited, name, body, secrets },
    ...{ origin, revision, createdAt, updatedAt },
  }
}

/** A setting as the API shows it, with its body. */
export function settingView(setting: OwnedSetting, body: JsonObject): JsonObject {
  const { id, owner, name, origin, revision, createdAt, updatedAt } = setting
  const shown = { id, ref: `${owner.name}~${name}`, owner: owner.name, ...body, origin, revision, createdAt, updatedAt }
  return setting.limited ? { ...shown, limited: true } : shown
}
