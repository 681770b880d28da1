import { sql } from 'kysely'
import manifest from '../../../package.json' with { type: 'json' }
import type { FileState } from '../../registry/api.ts'
import { countInFile, countStored } from '../../registry/sealed-values.ts'
import { schemaNames } from '../../store/migrate.ts'
import type { DialectName, Store } from '../../store/open.ts'
import { readPluginRows } from '../../store/rows/plugin-rows.ts'
import { readRows } from '../../store/rows/rows.ts'
import type { Reader } from '../../store/transact.ts'
import type { PassphraseSealed } from '../passphrase.ts'
import { type BackedUpSettings, readBackupFile, writeBackupFile } from './backup-file.ts'

/** The parts of a backup besides the database. */
export interface BackupOptions {
  readonly settings?: BackedUpSettings & { readonly entries: FileState['servers'] }
  readonly masterKeys?: PassphraseSealed
}

/** A summary of a backup, for the person who made it. */
export interface BackupSummary {
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>
  /** Ids of the master keys without which its secrets cannot be opened. */
  readonly keys: readonly string[]
}

/** The purpose for which the master keys in a backup are sealed. */
export const BACKUP_KEYS = 'patchbay backup, master keys'

/**
 * Writes the rows of one moment to a new file, and reads it back whole. The hub may go on meanwhile. Throws the errors
 * of the file system (`EEXIST`), of the database, and StartError `backup_corrupt` when the file is not what was written.
 */
export async function backUp(
  store: Pick<Store, 'db'> & { readonly dialect: DialectName },
  path: string,
  { settings, masterKeys }: BackupOptions,
): Promise<BackupSummary> {
  const transaction = store.db.transaction()
  const moment =
    store.dialect === 'postgres'
      ? transaction.setIsolationLevel('repeatable read').setAccessMode('read only')
      : transaction
  const keys = await moment.execute(async trx => {
    const sealed = new Set([...(await countStored(trx)).keys(), ...countInFile(settings?.entries ?? []).keys()])
    const header = {
      format: 'patchbay-backup' as const,
      version: 1,
      hub: manifest.version,
      schema: await schemaOf(trx),
      createdAt: new Date().toISOString(),
      database: store.dialect,
      keys: [...sealed].sort(),
      ...(masterKeys ? { masterKeys } : {}),
    }
    await writeBackupFile(path, {
      header,
      ...(settings ? { settings: { name: settings.name, text: settings.text } } : {}),
      rows: allRows(trx, store.dialect),
    })
    return header.keys
  })
  return { rows: await checkedRows(path), keys }
}

/** The rows of plugins' tables wait for their plugins after a restore. */
async function* allRows(db: Reader, dialect: DialectName) {
  yield* readRows(db)
  for await (const rows of readPluginRows(db, dialect))
    yield { table: 'waiting_row', rows: rows.map(row => ({ ...row })) }
}

/** A full disk can cut a write short without an error. */
async function checkedRows(path: string): Promise<Readonly<Record<string, number>>> {
  const rows: Record<string, number> = {}
  for await (const part of readBackupFile(path)) if ('table' in part) rows[part.table] = (rows[part.table] ?? 0) + 1
  return rows
}

/** Throws when the tables are not those that this hub knows. */
async function schemaOf(db: Reader): Promise<string> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name desc limit 1`.execute(db)
  const [newest = ''] = rows.map(({ name }) => name)
  if (newest === schemaNames().at(-1)) return newest
  throw new Error(
    `The tables of the database are of another version (${newest}); start the hub once, which brings them up to date`,
  )
}
