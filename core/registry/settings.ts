import { HubError } from '../contract/errors.ts'
import type { JsonValue } from '../contract/json.ts'
import type { Actor } from '../contract/records.ts'
import { canEdit, isAdmin } from '../domain/ownership.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { SettingTable } from '../store/tables.ts'
import { read, type Writer, write } from '../store/transact.ts'
import { checkRevision } from './access.ts'
import type { SettingRegistry } from './api.ts'
import { type RegistryDeps, timestamp } from './context.ts'
import type { WriteOptions } from './options.ts'
import { ownerOf, userById } from './owners.ts'
import { storedBytes, withinStoredBytes } from './stored-bytes.ts'

const PURPOSE = 'setting'
const SYSTEM = 'system'
/** Key of the row that counts the changes of the system's settings. It is not a setting. */
const REVISION = '$revision'

/** Settings in the store. */
export class Settings implements SettingRegistry {
  readonly #deps: RegistryDeps

  constructor(deps: RegistryDeps) {
    this.#deps = deps
  }

  async system(key: string): Promise<JsonValue | undefined> {
    const row = await this.#row(SYSTEM, key)
    return row && (JSON.parse(row.value) as JsonValue)
  }

  async allSystem(): Promise<Readonly<Record<string, JsonValue>>> {
    const { [REVISION]: _, ...settings } = await this.#plain(SYSTEM)
    return settings
  }

  async systemRevision(): Promise<number> {
    return Number((await this.#row(SYSTEM, REVISION))?.value ?? 0)
  }

  async setSystem(
    actor: Actor,
    values: Readonly<Record<string, JsonValue | null>>,
    options: Pick<WriteOptions, 'ifRevision'> = {},
  ): Promise<void> {
    if (!isAdmin(actor)) throw new HubError('admin_only', 'Only administrators change settings of the system')
    const keys = Object.keys(values)
    if (keys.length === 0) return
    await write(this.#deps.store, async (trx, after) => {
      const row = await trx
        .selectFrom('setting')
        .select(['value', 'updated_at'])
        .where('scope', '=', SYSTEM)
        .where('key', '=', REVISION)
        .executeTakeFirst()
      const revision = Number(row?.value ?? 0)
      checkRevision('settings', { name: SYSTEM, revision, updated_at: row?.updated_at ?? '' }, options)
      await this.#put(trx, SYSTEM, [[REVISION, String(revision + 1)]], 0)
      await this.#putAll(trx, SYSTEM, values)
      after(() => this.#emit(null, keys))
    })
  }

  async setSystemSecret(actor: Actor, key: string, value: string | null): Promise<void> {
    if (!isAdmin(actor)) throw new HubError('admin_only', 'Only administrators change settings of the system')
    await write(this.#deps.store, async (trx, after) => {
      await this.#putSealed(trx, SYSTEM, { [key]: value })
      after(() => this.#emit(null, [key]))
    })
  }

  pluginScope(plugin: string): string {
    return `plugin:${plugin}`
  }

  async setPlugin(
    plugin: string,
    values: Readonly<Record<string, JsonValue | null>>,
    secrets: Readonly<Record<string, string | null>> = {},
  ): Promise<void> {
    await write(this.#deps.store, async trx => {
      await this.#putAll(trx, this.pluginScope(plugin), values)
      await this.#putSealed(trx, this.pluginScope(plugin), secrets)
    })
  }

  openSystemSecret(key: string): Promise<string | undefined> {
    return this.openUserSecret(SYSTEM, key)
  }

  async systemSecretInfo(key: string): Promise<{ readonly last4: string; readonly setAt: string } | undefined> {
    return (await this.userSecretInfo(SYSTEM, key))[key]
  }

  async storedBytes(userId: string): Promise<{ readonly total: number; readonly config: number }> {
    const { config, documents, others } = await read(this.#deps.store, db => storedBytes(db, userId))
    return { total: config + documents + others, config }
  }

  user(userId: string): Promise<Readonly<Record<string, JsonValue>>> {
    return this.#plain(userId)
  }

  async setUser(
    actor: Actor,
    userId: string,
    values: Readonly<Record<string, JsonValue | null>>,
    secrets: Readonly<Record<string, string | null>> = {},
  ): Promise<void> {
    rejectOtherUsers(actor, userId)
    const keys = [...Object.keys(values), ...Object.keys(secrets)]
    if (keys.length === 0) return
    await write(this.#deps.store, async (trx, after) => {
      const owner = await userById(trx, userId)
      if (!owner) throw noSuchUser()
      await withinStoredBytes(trx, ownerOf(owner), async () => {
        await this.#putAll(trx, userId, values)
        await this.#putSealed(trx, userId, secrets)
      })
      after(() => this.#emit(userId, keys))
    })
  }

  async openUserSecret(userId: string, key: string): Promise<string | undefined> {
    const row = await this.#row(userId, key)
    if (row?.secret !== 1) return undefined
    return this.#deps.sealer.open(PURPOSE, place(userId, key), row.value)
  }

  async userSecretTimes(userId: string, prefix: string): Promise<Readonly<Record<string, string>>> {
    const rows = await this.#rows(userId)
    const secrets = rows.filter(row => row.secret === 1 && row.key.startsWith(prefix))
    return Object.fromEntries(secrets.map(({ key, updated_at: setAt }) => [key, setAt]))
  }

  async userSecretInfo(
    userId: string,
    prefix: string,
  ): Promise<Readonly<Record<string, { readonly last4: string; readonly setAt: string }>>> {
    const rows = await this.#rows(userId)
    return Object.fromEntries(
      rows
        .filter(row => row.secret === 1 && row.key.startsWith(prefix))
        .map(row => {
          // A secret that can no longer be decrypted is still shown as set, so that its owner can enter it again.
          const secret = opened(this.#deps.sealer, row, row.value) ?? ''
          // Four characters would reveal too much of a short secret.
          return [row.key, { last4: secret.length >= 12 ? secret.slice(-4) : '', setAt: row.updated_at }]
        }),
    )
  }

  #putAll(trx: Writer, scope: string, values: Readonly<Record<string, JsonValue | null>>): Promise<void> {
    const texts = Object.entries(values).map(
      ([key, value]) => [key, value === null ? null : JSON.stringify(value)] as const,
    )
    return this.#put(trx, scope, texts, 0)
  }

  #putSealed(trx: Writer, scope: string, secrets: Readonly<Record<string, string | null>>): Promise<void> {
    const { sealer } = this.#deps
    const sealed = Object.entries(secrets).map(
      ([key, value]) => [key, value === null ? null : sealer.seal(PURPOSE, place(scope, key), value)] as const,
    )
    return this.#put(trx, scope, sealed, 1)
  }

  /** In one statement, as a statement for each would hold the main thread for tens of milliseconds; null removes. */
  async #put(
    trx: Writer,
    scope: string,
    texts: readonly (readonly [key: string, value: string | null])[],
    secret: 0 | 1,
  ): Promise<void> {
    const removed = texts.filter(([, value]) => value === null).map(([key]) => key)
    if (removed.length > 0)
      await trx.deleteFrom('setting').where('scope', '=', scope).where('key', 'in', removed).execute()
    const updated_at = timestamp(this.#deps)
    const rows = texts.flatMap(([key, value]) => (value === null ? [] : [{ scope, key, value, secret, updated_at }]))
    if (rows.length === 0) return
    await trx
      .insertInto('setting')
      .values(rows)
      .onConflict(conflict =>
        conflict.columns(['scope', 'key']).doUpdateSet(({ ref }) => ({
          value: ref('excluded.value'),
          secret: ref('excluded.secret'),
          updated_at: ref('excluded.updated_at'),
        })),
      )
      .execute()
  }

  async #plain(scope: string): Promise<Readonly<Record<string, JsonValue>>> {
    const rows = await this.#rows(scope)
    return Object.fromEntries(
      rows.filter(row => row.secret === 0).map(row => [row.key, JSON.parse(row.value) as JsonValue]),
    )
  }

  #rows(scope: string): Promise<SettingTable[]> {
    return read(this.#deps.store, db =>
      db.selectFrom('setting').selectAll().where('scope', '=', scope).orderBy('key').execute(),
    )
  }

  #row(scope: string, key: string): Promise<SettingTable | undefined> {
    return read(this.#deps.store, db =>
      db.selectFrom('setting').selectAll().where('scope', '=', scope).where('key', '=', key).executeTakeFirst(),
    )
  }

  #emit(userId: string | null, keys: readonly string[]): void {
    const payload = userId === null ? { scope: 'system' as const, keys } : { scope: 'user' as const, userId, keys }
    this.#deps.bus.emit('settings.updated', userId, payload)
  }
}

/** Seals a value again for the same field, with the sealer's first key; undefined when it cannot be opened. */
export function resealSetting(sealer: Sealer, row: Pick<SettingTable, 'scope' | 'key'>, sealed: string) {
  const value = opened(sealer, row, sealed)
  return value === undefined ? undefined : sealer.seal(PURPOSE, place(row.scope, row.key), value)
}

function opened(sealer: Sealer, row: Pick<SettingTable, 'scope' | 'key'>, sealed: string): string | undefined {
  try {
    return sealer.open(PURPOSE, place(row.scope, row.key), sealed)
  } catch {
    // The key was removed from the ring, or the row was moved.
    return undefined
  }
}

function place(userId: string, key: string): { owner: string; record: string; field: string } {
  return { owner: userId, record: 'setting', field: key }
}

/** Another user's settings appear not to exist. */
function rejectOtherUsers(actor: Actor, userId: string): void {
  if (!canEdit(actor, { ownerId: userId })) throw noSuchUser()
}

function noSuchUser(): HubError {
  return new HubError('user_not_found', 'There is no such user')
}
