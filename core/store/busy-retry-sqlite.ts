import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult, SqliteDialect } from 'kysely'
import { storageCode } from './errors.ts'

/** How long a statement may wait for another process that writes, in milliseconds. */
const BUSY_MS = 250
const LOOK_MS = 10
/** So long after the last refusal, a lock that is met is another one. */
const FORGET_MS = 100

/**
 * SQLite without its own busy wait, which would stop the whole thread: a statement that meets the lock of another process is
 * tried again while everything else goes on. Those that queue behind it wait no longer than it does: the time is counted
 * from the first refusal for all of them, and once it is over each fails at once (SQLITE_BUSY) until the lock is gone.
 */
export class BusyRetrySqliteDialect extends SqliteDialect {
  override createDriver(): Driver {
    return new PatientDriver(super.createDriver())
  }
}

class PatientDriver implements Driver {
  readonly #driver: Driver
  readonly #connections = new WeakMap<DatabaseConnection, DatabaseConnection>()
  readonly #lockWait = new LockWait()
  constructor(driver: Driver) {
    this.#driver = driver
  }

  init(): Promise<void> {
    return this.#driver.init()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const inner = await this.#driver.acquireConnection()
    const known = this.#connections.get(inner)
    if (known) return known
    const made = new PatientConnection(inner, this.#lockWait)
    this.#connections.set(inner, made)
    return made
  }

  beginTransaction(...args: Parameters<Driver['beginTransaction']>): Promise<void> {
    return this.#driver.beginTransaction(...args)
  }

  commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#driver.commitTransaction(connection)
  }

  /** Never rejects: what is to be told is the error that led here. A rollback that fails is made up for later. */
  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#driver.rollbackTransaction(connection).catch(() => undefined)
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    return this.#driver.releaseConnection(connection)
  }

  destroy(): Promise<void> {
    return this.#driver.destroy()
  }
}

const ROLLBACK = CompiledQuery.raw('rollback')

class PatientConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection
  readonly #lockWait: LockWait
  /** A transaction has failed, and so has its rollback. */
  #unfinished = false

  constructor(connection: DatabaseConnection, lockWait: LockWait) {
    this.#connection = connection
    this.#lockWait = lockWait
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const isRollback = query.sql === ROLLBACK.sql
    // Nobody may read or write inside of what another one left behind.
    if (isRollback || this.#unfinished) await this.#rollback()
    return isRollback ? { rows: [] } : await this.#patiently<R>(query)
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

  async #patiently<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    for (;;) {
      try {
        const result = await this.#connection.executeQuery<R>(query)
        // Reading succeeds beside a lock and says nothing about it.
        if (result.numAffectedRows !== undefined) this.#lockWait.renew()
        return result
      } catch (error) {
        if (storageCode(error) !== 'SQLITE_BUSY' || !this.#lockWait.left()) throw error
        await new Promise(resolve => setTimeout(resolve, LOOK_MS))
      }
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>(query, chunkSize)
  }
}

/** How long the present lock has been in the way. */
class LockWait {
  #firstMs = Number.NEGATIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY

  /** A statement had the lock for itself. */
  renew(): void {
    this.#lastMs = Number.NEGATIVE_INFINITY
  }

  /** A statement was refused: may it try again? */
  left(): boolean {
    const now = performance.now()
    if (now - this.#lastMs > FORGET_MS) this.#firstMs = now
    this.#lastMs = now
    return now - this.#firstMs < BUSY_MS
  }
}
