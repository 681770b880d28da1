import { sql } from 'kysely'
import { StartError } from '../../config/start-error.ts'
import { faultWords } from '../../domain/fault-words.ts'
import { schemaNames } from '../../store/migrate.ts'
import type { DialectName, Store } from '../../store/open.ts'
import { dropPluginTables, readPluginRows } from '../../store/rows/plugin-rows.ts'
import { insertRows, readRows, type StoredRow } from '../../store/rows/rows.ts'
import { BACKED_UP, NOT_BACKED_UP } from '../../store/rows/tables.ts'
import { openScratch, type Scratch } from '../../store/scratch.ts'
import { type Reader, read, type Writer, write } from '../../store/transact.ts'
import { type BackedUpSettings, type BackupHeader, corrupt, readBackupFile } from './backup-file.ts'

/** A backup that was read whole and found consistent. */
export interface ReadBackup {
  readonly header: BackupHeader
  readonly settings?: BackedUpSettings
  /** Its rows, in tables of the newest schema. */
  readonly scratch: Scratch
}

const ROWS_AT_ONCE = 100

/**
 * Reads a backup into a temporary database at `scratchPath`, which the caller removes, and brings it to the newest
 * schema there. Throws StartError `backup_corrupt`, `backup_newer`, and the file system's error.
 */
export async function readBackup(path: string, scratchPath: string): Promise<ReadBackup> {
  const parts = readBackupFile(path)
  const first = await parts.next()
  if (first.done || !('header' in first.value)) throw corrupt('it is empty')
  const { header } = first.value
  const known = schemaNames()
  if (!known.includes(header.schema)) {
    const what = `The backup was written by Patchbay ${header.hub}, whose tables this one does not know`
    throw new StartError('backup_newer', `${what} (${header.schema}); nothing was changed`)
  }
  const scratch = await openScratch(scratchPath, header.schema)
  try {
    const settings = await load(scratch, parts)
    const dangling = await scratch.finish()
    if (dangling.length > 0) throw corrupt(`rows of ${dangling.join(', ')} refer to rows that are missing`)
    return { header, ...(settings ? { settings } : {}), scratch }
  } catch (error) {
    await scratch.close()
    if (error instanceof StartError) throw error
    throw error instanceof Error && 'syscall' in error ? error : corrupt(faultWords(error))
  }
}

/** Inserts the rows; returns the settings file. */
async function load({ db }: Scratch, parts: ReturnType<typeof readBackupFile>): Promise<BackedUpSettings | undefined> {
  const tables = new Set((await db.introspection.getTables()).map(({ name }) => name))
  let settings: BackedUpSettings | undefined
  await db.transaction().execute(async trx => {
    const batch = new Batch(trx)
    for await (const part of parts) {
      if ('settings' in part) settings = part.settings
      if (!('table' in part)) continue
      if (!tables.has(part.table)) throw corrupt(`there is no table "${part.table.slice(0, 64)}"`)
      await batch.add(part.table, part.row)
    }
    await batch.flush()
  })
  return settings
}

/** Rows that are inserted together: of one table, with the columns of the first. */
class Batch {
  readonly #db: Reader
  #table = ''
  #columns = ''
  #rows: StoredRow[] = []

  constructor(db: Reader) {
    this.#db = db
  }

  async add(table: string, row: StoredRow): Promise<void> {
    const columns = Object.keys(row).join('\n')
    const fits = table === this.#table && columns === this.#columns && this.#rows.length < ROWS_AT_ONCE
    if (!fits) await this.flush()
    this.#table = table
    this.#columns = columns
    this.#rows.push(row)
  }

  async flush(): Promise<void> {
    await insertRows(this.#db, this.#table, this.#rows)
    this.#rows = []
  }
}

/** True when nobody has used a store: it has no named user, and nothing besides the content of the settings file. */
export async function isUnused(store: Store): Promise<boolean> {
  return read(store, async db => {
    const named = await db.selectFrom('user').select('id').where('name', 'is not', null).executeTakeFirst()
    const server = await db.selectFrom('server').select('id').where('origin', '=', 'store').executeTakeFirst()
    const group = await db.selectFrom('server_group').select('id').where('origin', '=', 'store').executeTakeFirst()
    return !named && !server && !group
  })
}

/** Replaces all that the store holds, in one transaction. All sign-ins end. */
export async function restoreRows(store: Store, { scratch }: ReadBackup): Promise<void> {
  await write(store, async trx => {
    await removeAll(trx, store.dialect)
    for await (const { table, rows } of readRows(scratch.db)) await insertRows(trx, table, rows)
    await restorePluginRows(trx, scratch.db)
    // An earlier token could belong to somebody who had other rights then.
    await trx.updateTable('user').set({ token_epoch: sql<number>`token_epoch + 1` }).execute()
  })
}

/**
 * Rows of tables that are a plugin's now, and were the hub's own when the backup was made: they wait like all others of plugins,
 * which a backup holds as waiting rows.
 */
async function restorePluginRows(trx: Writer, from: Reader): Promise<void> {
  const waiting = await trx.selectFrom('waiting_row').select('table_name').distinct().execute()
  const known = new Set(waiting.map(({ table_name: table }) => table))
  for await (const rows of readPluginRows(from, 'sqlite')) {
    const added = rows.filter(({ table_name: table }) => !known.has(table))
    if (added.length > 0)
      await insertRows(
        trx,
        'waiting_row',
        added.map(row => ({ ...row })),
      )
  }
}

/** Empties all tables. Those of plugins go: they are made again when their plugins start. */
export async function removeAll(trx: Writer, dialect: DialectName): Promise<void> {
  await dropPluginTables(trx, dialect)
  for (const { name } of [...NOT_BACKED_UP, ...BACKED_UP.toReversed()]) await trx.deleteFrom(name).execute()
}
