import {
  CompiledQuery,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
} from 'kysely'
import type { CommitSync } from './commit-sync.ts'
import { storageCode } from './errors.ts'

/** How long a statement may wait for the lock of another process, in milliseconds. */
const BUSY_MS = 250
const RETRY_MS = 10
/** A refusal that comes longer than this after the previous one counts as a new lock. */
const FORGET_MS = 100

/**
 * SQLite without its own busy wait, which would block the whole thread: a statement that finds the database locked by
 * another process is retried asynchronously. Queued statements share its deadline: the time counts from the first
 * refusal, and after it every statement fails at once (SQLITE_BUSY) until the lock is released.
 */
export class BusyRetrySqliteDialect extends SqliteDialect {
  readonly #sync: CommitSync | undefined

  /** `sync`: syncs what was written before it is acknowledged. */
  constructor({ database, sync }: { readonly database: SqliteDatabase; readonly sync?: CommitSync | undefined }) {
    super({ database })
    this.#sync = sync
  }

  override createDriver(): Driver {
    return new BusyRetryDriver(super.createDriver(), this.#sync)
  }

  override createAdapter(): DialectAdapter {
    return new TransactionalAdapter()
  }
}

/**
 * Has all pending migrations run in one transaction, which SQLite can do though Kysely does not assume it: each statement
 * would else be one of its own, written through to the disk, and a crash would leave a migration half done.
 */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }

  /** The driver locks its one connection itself, so that it can release it before it waits for the disk. */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class BusyRetryDriver implements Driver {
  readonly #driver: Driver
  readonly #sync: CommitSync | undefined
  readonly #connections = new WeakMap<DatabaseConnection, DatabaseConnection>()
  readonly #lockWait = new LockWait()
  readonly #lock = new ConnectionLock()

  constructor(driver: Driver, sync: CommitSync | undefined) {
    this.#driver = driver
    this.#sync = sync
  }

  init(): Promise<void> {
    return this.#driver.init()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    await this.#lock.acquire()
    const inner = await this.#driver.acquireConnection()
    const known = this.#connections.get(inner)
    if (known) return known
    const made = new BusyRetryConnection(inner, this.#lockWait)
    this.#connections.set(inner, made)
    return made
  }

  beginTransaction(...args: Parameters<Driver['beginTransaction']>): Promise<void> {
    return this.#driver.beginTransaction(...args)
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#driver.commitTransaction(connection)
    this.#sync?.committed()
  }

  /** Never rejects: the caller should see the error that caused the rollback. A failed rollback is repeated before the
   * next statement. */
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    this.#sync?.rolledBack()
    await this.#driver.rollbackTransaction(connection).catch(() => undefined)
  }

  /** Kysely awaits this before it returns the result of a statement or transaction, and throws its error instead. */
  async releaseConnection(): Promise<void> {
    const wrote = this.#sync?.takeWrote()
    this.#lock.release()
    if (wrote) await this.#sync?.confirm()
  }

  async destroy(): Promise<void> {
    await this.#sync?.close()
    await this.#driver.destroy()
  }
}

/** A lock for the one connection, granted in the order of the requests. */
class ConnectionLock {
  #taken = false
  readonly #waiting: (() => void)[] = []

  async acquire(): Promise<void> {
    if (this.#taken) await new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#taken = true
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#taken = false
  }
}

const ROLLBACK = CompiledQuery.raw('rollback')

class BusyRetryConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection
  readonly #lockWait: LockWait
  /** A transaction and its rollback have both failed. */
  #unfinished = false

  constructor(connection: DatabaseConnection, lockWait: LockWait) {
    this.#connection = connection
    this.#lockWait = lockWait
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const isRollback = query.sql === ROLLBACK.sql
    // No statement may run inside the transaction that another caller left open.
    if (isRollback || this.#unfinished) await this.#rollback()
    return isRollback ? { rows: [] } : await this.#executeWithRetry<R>(query)
  }

  async #rollback(): Promise<void> {
    this.#unfinished = true
    try {
      await this.#connection.executeQuery(ROLLBACK)
    } catch (error) {
      // After some failures, such as a full disk, SQLite has rolled back by itself.
      if (!(error instanceof Error && error.message.includes('no transaction is active'))) throw error
    }
    this.#unfinished = false
  }

  async #executeWithRetry<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    for (;;) {
      try {
        const result = await this.#connection.executeQuery<R>(query)
        // A read succeeds despite a write lock, so only writes show that it is free.
        if (result.numAffectedRows !== undefined) this.#lockWait.reset()
        return result
      } catch (error) {
        if (storageCode(error) !== 'SQLITE_BUSY' || !this.#lockWait.mayRetry()) throw error
        await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>(query, chunkSize)
  }
}

/** Measures how long the present lock has lasted. */
class LockWait {
  #firstMs = Number.NEGATIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY

  /** A write succeeded, so the lock is free. */
  reset(): void {
    this.#lastMs = Number.NEGATIVE_INFINITY
  }

  /** A statement was refused; returns whether it may retry. */
  mayRetry(): boolean {
    const now = performance.now()
    if (now - this.#lastMs > FORGET_MS) this.#firstMs = now
    this.#lastMs = now
    return now - this.#firstMs < BUSY_MS
  }
}
