import { existsSync, rmSync } from 'node:fs'
import { chmod, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, sql, type Transaction } from 'kysely'
import { watchPlace } from '../config/watch-place.ts'
import { faultWords } from '../domain/fault-words.ts'
import { CommitSync } from './commit-sync.ts'
import { StoreOpenError, storageCode, withStorageErrors } from './errors.ts'
import { migrateToLatest, newerStore, schemaNames } from './migrate.ts'
import type { PostgresUse } from './open-postgres.ts'
import type { DatabaseLock } from './postgres-lock.ts'
import { Silence } from './silence.ts'
import { adapted } from './sqlite-adapter.ts'
import { HubSqliteDialect } from './sqlite-dialect.ts'
import type { Tables } from './tables.ts'
import { WriteWatch } from './write-watch.ts'

/** The databases that the hub supports. */
export type DialectName = 'sqlite' | 'postgres'

/** A transaction that many reads and writes are parts of; see `togetherIn`. */
export interface JoinedTransaction {
  readonly trx: Transaction<Tables>
  /** Registers an effect for after the commit. */
  readonly after: (effect: () => void) => void
}

/** An open database with all migrations applied. */
export interface Store {
  readonly db: Kysely<Tables>
  readonly dialect: DialectName
  /**
   * Resolves when the database responds: `unwritable` when its disk refused a write (full, read-only) and still does.
   * Throws `storage_unavailable` or `storage_busy`.
   */
  ping(): Promise<'ok' | 'unwritable'>
  /** Set for the parts of one transaction: they use it, and neither begin nor end it. */
  readonly joined?: JoinedTransaction
  /** Detects a database that stopped responding; PostgreSQL only. */
  readonly silence?: Silence
  /**
   * Registers what runs right after the commit of the open transaction. Absent where a transaction resolves at its commit; with
   * SQLite it resolves later, once the disk has confirmed it.
   */
  readonly atCommit?: (run: () => void) => void
  /** Ends all connections. The store cannot be used afterwards. */
  close(): Promise<void>
}

interface OpenedDatabase {
  readonly db: Kysely<Tables>
  readonly sync?: CommitSync | undefined
}

/** Options for opening a database. */
export interface StoreOptions {
  /** `postgres://…` or `postgresql://…`; absent: `patchbay.db` in dataDir. */
  readonly databaseUrl?: string
  /** Absolute path of a folder that exists. */
  readonly dataDir: string
  /**
   * A hub has used this data folder before, so an empty database file means lost data: `store_corrupt`. Default false:
   * an empty file is a new one.
   */
  readonly usedBefore?: boolean
  /** Longest statement on PostgreSQL, in milliseconds. Default 3,500; longer for commands that move whole tables. */
  readonly statementMs?: number
}

/** The database's file in the data folder. */
export const SQLITE_FILE = 'patchbay.db'
/** Used for opening only, as SQLite's busy wait blocks the thread. Later statements retry without blocking. */
const OPEN_BUSY_MS = 250
/** Migrations may take long when the old tables are large. */
const POSTGRES_MIGRATION_MS = 300_000
/** Longest time for closing, in milliseconds: a database that hangs must not delay the hub's exit. */
const CLOSE_MS = 2_000

/**
 * Opens the database and migrates its tables. Throws StoreOpenError: `store_corrupt` and `store_newer` (nothing is
 * changed), `store_unavailable`, `data_dir_unwritable`.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, statementMs } = options
  if (databaseUrl !== undefined && !isPostgres(databaseUrl)) {
    throw new StoreOpenError('store_unavailable', 'DATABASE_URL must begin with postgres:// or postgresql://')
  }
  const dialect: DialectName = databaseUrl === undefined ? 'sqlite' : 'postgres'
  const watch = new WriteWatch()
  const silence = databaseUrl === undefined || statementMs !== undefined ? undefined : new Silence()
  const use = { watch, silence, ...(statementMs === undefined ? {} : { statementMs }) }
  const opened = databaseUrl === undefined ? await openSqlite(options, watch) : { db: await connect(databaseUrl, use) }
  const { db, sync }: OpenedDatabase = opened
  await migrated(db, options)
  return {
    db,
    dialect,
    ...(silence ? { silence } : {}),
    ...(sync ? { atCommit: run => sync.atCommit(run) } : {}),
    ping: () =>
      withStorageErrors(async () => {
        await sql`select 1`.execute(db)
        return await watch.check(db)
      }),
    close: () => closed(db),
  }
}

/** Brings the tables up to date; closes the database when that fails. */
async function migrated(db: Kysely<Tables>, { databaseUrl, dataDir }: StoreOptions): Promise<void> {
  const migrating = databaseUrl === undefined ? db : await connect(databaseUrl, { statementMs: POSTGRES_MIGRATION_MS })
  try {
    await migrateToLatest(migrating, databaseUrl === undefined ? 'sqlite' : 'postgres')
    if (migrating !== db) await closed(migrating)
  } catch (error) {
    await Promise.all([db.destroy(), ...(migrating === db ? [] : [closed(migrating)])])
    if (error instanceof StoreOpenError) throw error
    throw openFailed(error, databaseUrl === undefined ? join(dataDir, SQLITE_FILE) : 'the PostgreSQL database')
  }
}

/**
 * Ensures that one hub at a time uses a PostgreSQL database; undefined with SQLite, which the lock of the data folder
 * covers. Throws StoreOpenError `database_locked`, `store_unavailable`.
 */
export async function lockStore({ databaseUrl }: StoreOptions): Promise<DatabaseLock | undefined> {
  if (databaseUrl === undefined || !isPostgres(databaseUrl)) return undefined
  try {
    return await (await import('./postgres-lock.ts')).lockPostgres(databaseUrl)
  } catch (error) {
    throw error instanceof StoreOpenError ? error : openFailed(error, 'the PostgreSQL database')
  }
}

function isPostgres(databaseUrl: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(databaseUrl)
}

/**
 * Opens the database read-only: nothing is created, migrated or locked. Undefined if there is no database yet. Throws
 * StoreOpenError `store_unavailable`.
 */
export async function openStoreReadOnly(options: StoreOptions): Promise<Pick<Store, 'db' | 'close'> | undefined> {
  const path = join(options.dataDir, SQLITE_FILE)
  let db: Kysely<Tables>
  if (options.databaseUrl !== undefined) db = await connect(options.databaseUrl)
  else if (existsSync(path)) db = openSqliteReadOnly(path)
  else return undefined
  const close = () => closed(db)
  try {
    const tables = await db.introspection.getTables()
    if (tables.some(({ name }) => name === 'setting')) return { db, close }
    await close()
    return undefined
  } catch (error) {
    await close()
    throw openFailed(error, options.databaseUrl === undefined ? path : 'the PostgreSQL database')
  }
}

function openSqliteReadOnly(path: string): Kysely<Tables> {
  try {
    const database = new Database(path, { readonly: true, timeout: OPEN_BUSY_MS })
    return new Kysely<Tables>({
      dialect: new HubSqliteDialect({ database: adapted(database, { begin: 'begin deferred' }) }),
    })
  } catch (error) {
    throw openFailed(error, path)
  }
}

/** Overwrites the unused pages of SQLite's files, which still hold updated and deleted rows. */
export async function forgetOldPages(store: Store): Promise<void> {
  if (store.dialect !== 'sqlite') return
  await sql`vacuum`.execute(store.db)
  await sql`pragma wal_checkpoint(truncate)`.execute(store.db)
}

/**
 * Updates PostgreSQL's statistics after writing many rows. Otherwise it plans for nearly empty tables, and the first start with
 * many servers takes longer than a statement may.
 */
export async function refreshStatistics(store: Store): Promise<void> {
  if (store.dialect === 'postgres') await sql`analyze`.execute(store.db)
}

async function openSqlite({ dataDir, usedBefore = false }: StoreOptions, watch: WriteWatch): Promise<OpenedDatabase> {
  const path = join(dataDir, SQLITE_FILE)
  let database: Database | undefined
  try {
    if (usedBefore && (await isEmptyFile(path))) throw new StoreOpenError('store_corrupt', corrupt(path, 'it is empty'))
    if (existsSync(path) && isNewer(path)) throw newerStore()
    // Created here, so that the file is never readable by others; SQLite gives its side files the same mode.
    await (await open(path, 'a', 0o600)).close()
    await chmod(path, 0o600)
    database = new Database(path, { timeout: OPEN_BUSY_MS })
    // Checked before any pragma is set: setting the journal mode already writes.
    for (const table of checkedTables(database)) {
      const verdict = database.pragma(`quick_check('${table.replaceAll("'", "''")}')`, { simple: true })
      if (verdict !== 'ok') throw new StoreOpenError('store_corrupt', corrupt(path, 'a check of its pages fails'))
    }
    const journal = database.pragma('journal_mode = WAL', { simple: true })
    database.pragma('foreign_keys = ON')
    database.pragma('busy_timeout = 0')
    // An acknowledged write also survives a power failure. Some file systems have no shared memory, and therefore no
    // write-ahead log.
    database.pragma('synchronous = FULL')
    const sync = journal === 'wal' ? new CommitSync(database, path, watch) : undefined
    const reader = sync && adapted(new Database(path, { readonly: true, timeout: 0 }))
    const writer = adapted(database, { inPlace: watchPlace(path), sync })
    const dialect = new HubSqliteDialect({ database: writer, reader, sync })
    return { db: new Kysely<Tables>({ dialect, log: watch.note }), sync }
  } catch (error) {
    database?.close()
    throw error instanceof StoreOpenError ? error : openFailed(error, path)
  }
}

/** Read-only, since opening for writing would already fold a write-ahead log that was left into the file. */
function isNewer(path: string): boolean {
  const absent = ['-wal', '-shm'].map(end => path + end).filter(side => !existsSync(side))
  let database: Database | undefined
  let newer = false
  try {
    database = new Database(path, { readonly: true, timeout: OPEN_BUSY_MS })
    const rows = database.prepare('select name from kysely_migration').all() as { name: string }[]
    const known = new Set(schemaNames())
    newer = rows.some(({ name }) => !known.has(name))
  } catch {
    // A new, foreign or damaged file: opening it for writing shows which.
  } finally {
    database?.close()
  }
  // A reader creates them, empty, and leaves them behind.
  if (newer) for (const side of absent) rmSync(side, { force: true })
  return newer
}

/** Not checked at start but when read: they may hold gigabytes, and checking them would slow every start. */
const UNCHECKED = new Set(['openapi_document_part', 'server_catalog', 'server_catalog_part'])

function checkedTables(database: Database): readonly string[] {
  const rows = database.prepare("select name from sqlite_schema where type = 'table'").all() as { name: string }[]
  const tables = rows.map(({ name }) => name).filter(name => !UNCHECKED.has(name))
  // Without a name the check covers the whole file, and so does the check of a file that has no table yet.
  return ['sqlite_schema', ...tables]
}

async function isEmptyFile(path: string): Promise<boolean> {
  return existsSync(path) && (await stat(path)).size === 0
}

/** The driver is loaded only if it is used: a hub with SQLite saves its memory. */
async function connect(databaseUrl: string, use: PostgresUse = {}): Promise<Kysely<Tables>> {
  return (await import('./open-postgres.ts')).openPostgres(databaseUrl, use)
}

async function closed(db: Kysely<Tables>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, CLOSE_MS)
  try {
    await Promise.race([db.destroy(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function openFailed(error: unknown, what: string): StoreOpenError {
  const code = storageCode(error)
  const message = faultWords(error, code)
  if (code === 'SQLITE_NOTADB' || code?.startsWith('SQLITE_CORRUPT')) {
    return new StoreOpenError('store_corrupt', corrupt(what, message), error)
  }
  if (code && /^(?:EACCES|EPERM|EROFS|ENOENT|ENOTDIR|EISDIR|SQLITE_CANTOPEN|SQLITE_READONLY)/.test(code)) {
    return new StoreOpenError('data_dir_unwritable', `Cannot write ${what}: ${message}`, error)
  }
  return new StoreOpenError('store_unavailable', `Cannot open ${what}: ${message}`, error)
}

function corrupt(path: string, why: string): string {
  return `${path} is damaged or not a database of Patchbay (${why.replace(/\s+/g, ' ')}). It was left as it is: restore a backup, or move the whole data folder away to start with an empty one`
}
