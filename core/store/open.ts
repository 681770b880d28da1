import { existsSync } from 'node:fs'
import { chmod, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, type SqliteDatabase, sql } from 'kysely'
import pg from 'pg'
import { watchPlace } from '../config/watch-place.ts'
import { faultWords } from '../domain/fault-words.ts'
import { BusyRetrySqliteDialect } from './busy-retry-sqlite.ts'
import { CutOffClient } from './cut-off-client.ts'
import { StoreOpenError, storageCode, withStorageErrors } from './errors.ts'
import { migrateToLatest } from './migrate.ts'
import { Silence } from './silence.ts'
import type { Tables } from './tables.ts'
import { WriteWatch } from './write-watch.ts'

export type DialectName = 'sqlite' | 'postgres'

export interface Store {
  readonly db: Kysely<Tables>
  readonly dialect: DialectName
  /**
   * Resolves when the database answers: `unwritable` when its disk refused a write (full, read-only) and does so still.
   * Throws `storage_unavailable` or `storage_busy`.
   */
  ping(): Promise<'ok' | 'unwritable'>
  /** Of a database that may fall silent. */
  readonly silence?: Silence
  /** Ends all connections. The store is of no use afterwards. */
  close(): Promise<void>
}

export interface StoreOptions {
  /** `postgres://…` or `postgresql://…`; absent: `patchbay.db` in dataDir. */
  readonly databaseUrl?: string
  /** Absolute path of a folder that exists. */
  readonly dataDir: string
  /**
   * A hub has filled a database here before: a file of no bytes is then what is left of it, and `store_corrupt`. Default
   * false: such a file is one that has just been made.
   */
  readonly usedBefore?: boolean
}

/** The database's file in the data folder. */
export const SQLITE_FILE = 'patchbay.db'
/** SQLite's own name for it, which it uses in other journal modes alone. */
const MOVED = 'SQLITE_READONLY_DBMOVED'
/** For opening alone: SQLite's busy wait stops the whole thread. Later, the dialect waits without that. */
const OPEN_BUSY_MS = 250
const POSTGRES_CONNECT_MS = 4_000
/** The server gives a statement up by itself; one that does not even do that is given up a little later here. */
const POSTGRES_STATEMENT_MS = 3_500
const POSTGRES_SILENCE_MS = 4_000
/** New tables may take long to make where there is much in the old ones. */
const POSTGRES_MIGRATION_MS = 300_000
/** How long a database may take to say goodbye: one that hangs must not hold the hub's end. */
const CLOSE_MS = 2_000
const POSTGRES_CONNECTIONS = 10

/**
 * Opens the database and brings its tables up to date. Throws StoreOpenError: `store_corrupt` (the file is left as it
 * is), `store_unavailable`, `data_dir_unwritable`.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl } = options
  if (databaseUrl !== undefined && !/^postgres(?:ql)?:\/\//.test(databaseUrl)) {
    throw new StoreOpenError('store_unavailable', 'DATABASE_URL must begin with postgres:// or postgresql://')
  }
  const dialect: DialectName = databaseUrl === undefined ? 'sqlite' : 'postgres'
  const watch = new WriteWatch()
  const silence = databaseUrl === undefined ? undefined : new Silence()
  const db =
    databaseUrl === undefined ? await openSqlite(options, watch) : openPostgres(databaseUrl, { watch, silence })
  const migrating = databaseUrl === undefined ? db : openPostgres(databaseUrl, { statementMs: POSTGRES_MIGRATION_MS })
  try {
    await migrateToLatest(migrating, dialect)
    if (migrating !== db) await closed(migrating)
  } catch (error) {
    await Promise.all([db.destroy(), ...(migrating === db ? [] : [closed(migrating)])])
    if (error instanceof StoreOpenError) throw error
    throw openFailed(error, databaseUrl === undefined ? join(options.dataDir, SQLITE_FILE) : 'the PostgreSQL database')
  }
  return {
    db,
    dialect,
    ...(silence ? { silence } : {}),
    ping: () =>
      withStorageErrors(async () => {
        await sql`select 1`.execute(db)
        return await watch.check(db)
      }),
    close: () => closed(db),
  }
}

/**
 * The database as it is, for looking only: nothing is made, migrated or locked. Undefined when there is none yet. Throws
 * StoreOpenError `store_unavailable`.
 */
export async function openStoreToLook(options: StoreOptions): Promise<Pick<Store, 'db' | 'close'> | undefined> {
  const path = join(options.dataDir, SQLITE_FILE)
  let db: Kysely<Tables>
  if (options.databaseUrl !== undefined) db = openPostgres(options.databaseUrl)
  else if (existsSync(path)) db = lookInto(path)
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

function lookInto(path: string): Kysely<Tables> {
  try {
    const database = new Database(path, { readonly: true, timeout: OPEN_BUSY_MS })
    return new Kysely<Tables>({ dialect: new BusyRetrySqliteDialect({ database: adapted(database) }) })
  } catch (error) {
    throw openFailed(error, path)
  }
}

/** Overwritten and deleted rows of SQLite stay readable in its files until their room is used again: it is given up here. */
export async function forgetOldPages(store: Store): Promise<void> {
  if (store.dialect !== 'sqlite') return
  await sql`vacuum`.execute(store.db)
  await sql`pragma wal_checkpoint(truncate)`.execute(store.db)
}

async function openSqlite({ dataDir, usedBefore = false }: StoreOptions, watch: WriteWatch): Promise<Kysely<Tables>> {
  const path = join(dataDir, SQLITE_FILE)
  let database: Database | undefined
  try {
    if (usedBefore && (await isEmptyFile(path))) throw new StoreOpenError('store_corrupt', corrupt(path, 'it is empty'))
    // Made first, so that the file is never readable for others; SQLite gives its side files the same mode.
    await (await open(path, 'a', 0o600)).close()
    await chmod(path, 0o600)
    database = new Database(path, { timeout: OPEN_BUSY_MS })
    // Looked at before anything is set: setting the journal mode already writes.
    for (const table of checkedTables(database)) {
      const verdict = database.pragma(`quick_check('${table.replaceAll("'", "''")}')`, { simple: true })
      if (verdict !== 'ok') throw new StoreOpenError('store_corrupt', corrupt(path, 'a check of its pages fails'))
    }
    database.pragma('journal_mode = WAL')
    database.pragma('foreign_keys = ON')
    database.pragma('busy_timeout = 0')
    // FULL: an acknowledged write survives a power cut too. Writes are few; history has a file of its own.
    database.pragma('synchronous = FULL')
    const dialect = new BusyRetrySqliteDialect({ database: adapted(database, watchPlace(path)) })
    return new Kysely<Tables>({ dialect, log: watch.note })
  } catch (error) {
    database?.close()
    throw error instanceof StoreOpenError ? error : openFailed(error, path)
  }
}

/** Looked at when they are read: they may hold gigabytes, and a start that looks at each of their pages grows with them. */
const UNCHECKED = new Set(['server_document', 'server_catalog'])

function checkedTables(database: Database): readonly string[] {
  const rows = database.prepare("select name from sqlite_schema where type = 'table'").all() as { name: string }[]
  const tables = rows.map(({ name }) => name).filter(name => !UNCHECKED.has(name))
  // Without a name the whole file is checked; so is one that has no table yet.
  return ['sqlite_schema', ...tables]
}

/**
 * Transactions begin with the write lock, since the one that asks for it later is refused at once when another process has it.
 * SQLite ends a transaction by itself when the disk is full. The driver's own rollback would then fail, and its error would
 * stand in the place of the one that says why.
 */
function adapted(database: Database, inPlace: () => boolean = () => true): SqliteDatabase {
  return {
    close: () => void database.close(),
    prepare(text) {
      if (text === 'begin') {
        refuseMoved(inPlace)
        return database.prepare('begin immediate')
      }
      const ended = text === 'rollback' && !database.inTransaction
      // Any statement that returns nothing and changes nothing.
      const statement = database.prepare(ended ? 'select 1 where 0' : text)
      if (!statement.readonly && !database.inTransaction) refuseMoved(inPlace)
      return statement
    },
  }
}

/** What would be written to a file that nobody finds any more is lost. */
function refuseMoved(inPlace: () => boolean): void {
  if (inPlace()) return
  throw Object.assign(new Error('The database file was moved, removed or replaced while the hub ran'), { code: MOVED })
}

async function isEmptyFile(path: string): Promise<boolean> {
  return existsSync(path) && (await stat(path)).size === 0
}

interface PostgresUse {
  readonly watch?: WriteWatch
  readonly silence?: Silence | undefined
  readonly statementMs?: number
}

function openPostgres(databaseUrl: string, { watch, silence, statementMs }: PostgresUse = {}): Kysely<Tables> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: POSTGRES_CONNECTIONS,
    connectionTimeoutMillis: POSTGRES_CONNECT_MS,
    statement_timeout: statementMs ?? POSTGRES_STATEMENT_MS,
    query_timeout: statementMs ?? POSTGRES_SILENCE_MS,
    Client: CutOffClient,
    keepAlive: true,
    application_name: 'patchbay',
  })
  // An idle connection that breaks is reported here; the pool drops it, and the next query says what is wrong.
  pool.on('error', () => {})
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: event => {
      if (event.level === 'query') silence?.heard()
      watch?.note(event)
    },
  })
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
  return `${path} is damaged or not a database of Patchbay (${why.replace(/\s+/g, ' ')}). It was left as it is: restore a backup, or move the whole data folder away to begin anew`
}
