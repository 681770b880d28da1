import { CompiledQuery, type DatabaseConnection, type QueryResult } from 'kysely'
import { storageCode } from './errors.ts'

/** Longest wait of a statement for the lock of another process, in milliseconds. */
const BUSY_MS = 250
const RETRY_MS = 10
/** A rejection longer than this after the previous one counts as a new lock, in milliseconds. */
const FORGET_MS = 100

const ROLLBACK = CompiledQuery.raw('rollback')

/**
 * A connection without SQLite's own busy wait, which would block the whole thread: a statement that finds the database locked by
 * another process is retried asynchronously. Queued statements share its deadline: the time counts from the first refusal, and
 * after it every statement fails at once (SQLITE_BUSY) until the lock is released.
 */
export class BusyRetryConnection implements DatabaseConnection {
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
    let firstMs: number | undefined
    for (;;) {
      try {
        const result = await this.#connection.executeQuery<R>(query)
        // A read succeeds despite a write lock, so only writes show that it is free.
        if (result.numAffectedRows !== undefined) this.#lockWait.reset()
        return result
      } catch (error) {
        if (storageCode(error) !== 'SQLITE_BUSY' || !this.#lockWait.mayRetry()) throw error
        const nowMs = performance.now()
        firstMs ??= nowMs
        // While turns of the thread take long, each refusal seems to be of a new lock.
        if (nowMs - firstMs >= BUSY_MS) throw error
        await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>(query, chunkSize)
  }
}

/** Measures how long the present lock has lasted. */
export class LockWait {
  #firstMs = Number.NEGATIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY

  /** A write succeeded, so the lock is free. */
  reset(): void {
    this.#lastMs = Number.NEGATIVE_INFINITY
  }

  /** Records that a statement was rejected; returns true if it may retry. */
  mayRetry(): boolean {
    const now = performance.now()
    if (now - this.#lastMs > FORGET_MS) this.#firstMs = now
    this.#lastMs = now
    return now - this.#firstMs < BUSY_MS
  }
}
