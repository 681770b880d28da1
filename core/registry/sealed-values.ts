import type { JsonObject } from '../contract/json.ts'
import type { ServerSettings } from '../contract/records.ts'
import { nameKey, quoteName } from '../domain/names.ts'
import { flattenServerBody } from '../domain/server/body.ts'
import { type SealContext, type Sealer, sealedBy } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'
import { replaceSealed, sealedPlace, sealedPluginRows } from '../store/plugin-tables.ts'
import type { OwnedSettingTable } from '../store/tables.ts'
import { type Reader, read, type Writer, write } from '../store/transact.ts'
import type { FileState } from './api.ts'
import { fileOwner, rowOwner, userByName } from './owners.ts'
import { isPluginKind, pluginSealing, type RecordKinds, type SealedAs } from './record-kinds.ts'
import { type ServerRow, serverRecord } from './rows.ts'
import { selectServers } from './server-rows.ts'
import { configHash, resealSettings, resealText, sealedFileTexts, sealedTexts } from './servers/server-secrets.ts'
import { resealSetting } from './settings.ts'

/** Number of stored values that each key sealed, by key id. */
export type SealedCounts = ReadonlyMap<string, number>

/** Outcome of re-sealing. */
export interface Resealed {
  /** Sealed again. */
  readonly changed: number
  /** Already sealed with the first key. */
  readonly kept: number
  /** Positions of values that cannot be opened; they are unchanged. */
  readonly lost: readonly string[]
}

/** Counts the sealed values in the database. */
export async function countStored(db: Reader): Promise<SealedCounts> {
  const counts = new Map<string, number>()
  const servers = await db.selectFrom('server').select('config').execute()
  const settings = await db.selectFrom('setting').select('value').where('secret', '=', 1).execute()
  const channels = await db.selectFrom('owned_setting').select('secrets').execute()
  const ofPlugins = await sealedPluginRows(db)
  const texts = [
    ...ofPlugins.map(({ sealed }) => sealed),
    ...channels.flatMap(({ secrets }) => secrets ?? []),
    ...servers.flatMap(({ config }) => sealedTexts(JSON.parse(config) as ServerSettings)),
    ...settings.map(({ value }) => value),
  ]
  for (const text of texts) count(counts, sealedBy(text))
  return counts
}

/** Counts the sealed values in entries of the settings file. */
export function countInFile(entries: FileState['servers']): SealedCounts {
  const counts = new Map<string, number>()
  for (const entry of entries) for (const { text } of sealedFileTexts(flat(entry))) count(counts, sealedBy(text))
  return counts
}

function count(counts: Map<string, number>, kid: string | undefined): void {
  if (kid !== undefined) counts.set(kid, (counts.get(kid) ?? 0) + 1)
}

/**
 * Seals all values of the database with the sealer's first key, in one transaction. Caches keyed by a server's
 * configuration hash stay valid.
 */
export async function resealStored(store: Store, sealer: Sealer, kid: string, kinds: RecordKinds): Promise<Resealed> {
  const sealedAs = new Map(kinds.all().map(({ kind, sealedAs: as }) => [kind, as]))
  return write(store, async trx => {
    const tally = new Tally(sealer, kid)
    for (const row of await selectServers(trx).execute()) await resealServer(trx, row, tally)
    for (const row of await trx.selectFrom('setting').selectAll().where('secret', '=', 1).execute()) {
      const value = tally.reseal(row.value, `setting ${row.key}`, text => resealSetting(sealer, row, text))
      if (value === row.value) continue
      const update = trx.updateTable('setting').set({ value })
      await update.where('scope', '=', row.scope).where('key', '=', row.key).execute()
    }
    for (const row of await trx.selectFrom('owned_setting').selectAll().where('secrets', 'is not', null).execute()) {
      const as = isPluginKind(row.kind) ? pluginSealing(row.kind) : sealedAs.get(row.kind)
      await resealOwned(trx, row, as, tally)
    }
    await resealPluginRows(trx, tally)
    return tally
  })
}

async function resealPluginRows(trx: Writer, tally: Tally): Promise<void> {
  for (const row of await sealedPluginRows(trx)) {
    const { purpose, context } = sealedPlace(row)
    const where = `${row.table} ${row.id}`
    const sealed = tally.reseal(row.sealed, where, old => again(tally.sealer, purpose, context, old))
    if (sealed !== row.sealed) await replaceSealed(trx, row, sealed)
  }
}

/** Undefined for a text that cannot be opened. */
function again(sealer: Sealer, purpose: string, context: SealContext, sealed: string): string | undefined {
  try {
    return sealer.seal(purpose, context, sealer.open(purpose, context, sealed))
  } catch {
    return undefined
  }
}

async function resealServer(trx: Writer, row: ServerRow, tally: Tally): Promise<void> {
  const place = { ownerId: row.owner_id, id: row.id }
  const what = `server ${quoteName(row.name)} of ${rowOwner(row).name}`
  const stored = JSON.parse(row.config) as ServerSettings
  const sealed = resealSettings(stored, (text, pointer) =>
    tally.reseal(text, `${what}, ${pointer}`, old => resealText(tally.sealer, place, pointer, old)),
  )
  if (sealed === stored) return
  const config = JSON.stringify(sealed)
  if (config === row.config) return
  await trx.updateTable('server').set({ config }).where('id', '=', row.id).execute()
  const owner = rowOwner(row)
  const before = configHash(serverRecord(row), owner)
  const after = { config_hash: configHash(serverRecord({ ...row, config }), owner) }
  for (const table of ['server_catalog', 'server_era', 'server_asking'] as const) {
    const known = trx.updateTable(table).set(after)
    await known.where('server_id', '=', row.id).where('config_hash', '=', before).execute()
  }
}

async function resealOwned(
  trx: Writer,
  row: OwnedSettingTable,
  sealedAs: SealedAs | undefined,
  tally: Tally,
): Promise<void> {
  if (row.secrets === null || !sealedAs) return
  const { purpose, field, what } = sealedAs
  const context = { owner: row.owner_id, record: row.id, field }
  const secrets = tally.reseal(row.secrets, `${what} ${quoteName(row.name)}`, old =>
    again(tally.sealer, purpose, context, old),
  )
  if (secrets !== row.secrets)
    await trx.updateTable('owned_setting').set({ secrets }).where('id', '=', row.id).execute()
}

/** The new sealed texts of the settings file by the old ones, and their counts. Writes nothing. */
export async function resealFileEntries(
  store: Store,
  sealer: Sealer,
  kid: string,
  entries: FileState['servers'],
): Promise<Resealed & { readonly texts: ReadonlyMap<string, string> }> {
  const tally = new Tally(sealer, kid)
  const texts = new Map<string, string>()
  const rows = await read(store, db => selectServers(db).execute())
  const known = new Map(rows.map(row => [`${row.owner_id}/${row.name_key}`, row]))
  for (const entry of entries) {
    const row = known.get(`${await ownerId(store, entry.owner)}/${nameKey(entry.name)}`)
    for (const { text, pointer } of sealedFileTexts(flat(entry))) {
      const what = `settings file, server ${quoteName(entry.name)}, ${pointer}`
      const sealed = tally.reseal(text, what, old => {
        return row && resealText(sealer, { ownerId: row.owner_id, id: row.id }, pointer, old)
      })
      if (sealed !== text) texts.set(text, sealed)
    }
  }
  const { changed, kept, lost } = tally
  return { changed, kept, lost, texts }
}

async function ownerId(store: Store, name: string | undefined): Promise<string> {
  const owner = await read(store, db => (name === undefined ? fileOwner(db) : userByName(db, name)))
  return owner?.id ?? ''
}

function flat(entry: FileState['servers'][number]): JsonObject {
  return flattenServerBody({ ...entry.body, name: entry.name }, [])
}

class Tally implements Resealed {
  readonly sealer: Sealer
  readonly lost: string[] = []
  readonly #kid: string
  changed = 0
  kept = 0

  constructor(sealer: Sealer, kid: string) {
    this.sealer = sealer
    this.#kid = kid
  }

  /** Returns the replacement of `text`: unchanged when it needs none or cannot be opened. */
  reseal(text: string, where: string, seal: (text: string) => string | undefined): string {
    if (sealedBy(text) === this.#kid) {
      this.kept += 1
      return text
    }
    const sealed = seal(text)
    if (sealed === undefined) this.lost.push(where)
    else this.changed += 1
    return sealed ?? text
  }
}
