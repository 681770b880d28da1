import {
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
} from 'kysely'
import { BusyRetryConnection, LockWait } from './busy-retry-connection.ts'
import type { CommitSync } from './commit-sync.ts'
import { RoutedConnection } from './routed-connection.ts'

/** The connections to one SQLite database. */
export interface SqliteConnections {
  /** For all statements, unless `reader` is given. */
  readonly database: SqliteDatabase
  /** A second connection, for reads outside of transactions: they then wait for no transaction. Only in the journal mode `wal`. */
  readonly reader?: SqliteDatabase | undefined
  /** Syncs written data before the commit is acknowledged. */
  readonly sync?: CommitSync | undefined
}

/** SQLite with one connection that writes and another that reads; their statements are retried while the database is locked. */
export class HubSqliteDialect extends SqliteDialect {
  readonly #connections: SqliteConnections

  constructor(connections: SqliteConnections) {
    super({ database: connections.database })
    this.#connections = connections
  }

  override createDriver(): Driver {
    const { reader, sync } = this.#connections
    return new SqliteDriver(
      super.createDriver(),
      reader && new SqliteDialect({ database: reader }).createDriver(),
      sync,
    )
  }

  override createAdapter(): DialectAdapter {
    return new TransactionalAdapter()
  }
}

/**
 * Runs all pending migrations in one transaction, which SQLite supports though Kysely does not assume it: otherwise each
 * statement would be a separate one, written through to the disk, and a crash would leave a migration half done.
 */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }

  /** The driver locks the connection that writes itself, so that it can release it before it waits for the disk. */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class SqliteDriver implements Driver {
  readonly #driver: Driver
  readonly #readDriver: Driver | undefined
  readonly #sync: CommitSync | undefined
  readonly #lockWait = new LockWait()
  readonly #lock = new ConnectionLock()
  #writer: DatabaseConnection | undefined
  #reader: DatabaseConnection | undefined

  constructor(driver: Driver, readDriver: Driver | undefined, sync: CommitSync | undefined) {
    this.#driver = driver
    this.#readDriver = readDriver
    this.#sync = sync
  }

  async init(): Promise<void> {
    await Promise.all([this.#driver.init(), this.#readDriver?.init()])
    this.#writer = new BusyRetryConnection(await this.#driver.acquireConnection(), this.#lockWait)
    const reader = await this.#readDriver?.acquireConnection()
    this.#reader = reader && new BusyRetryConnection(reader, this.#lockWait)
  }

  acquireConnection(): Promise<RoutedConnection> {
    return Promise.resolve(new RoutedConnection(this.#reader, () => this.#lockWriter()))
  }

  async #lockWriter(): Promise<DatabaseConnection> {
    await this.#lock.acquire()
    if (!this.#writer) throw new Error('The driver is not initialized')
    return this.#writer
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
  async releaseConnection(connection: RoutedConnection): Promise<void> {
    if (!connection.usesWriter) return
    const wrote = this.#sync?.takeWrote()
    this.#lock.release()
    if (wrote) await this.#sync?.confirm()
  }

  async destroy(): Promise<void> {
    await this.#sync?.close()
    // First, so that the one that writes is the last one open, which removes the log.
    await this.#readDriver?.destroy()
    await this.#driver.destroy()
  }
}

/** A lock for the connection that writes, granted in the order of the requests. */
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
