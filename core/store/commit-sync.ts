import { type FileHandle, open } from 'node:fs/promises'
import type Database from 'better-sqlite3'
import { Checkpointer } from './checkpointer.ts'
import { UNCONFIRMED } from './errors.ts'
import type { WriteWatch } from './write-watch.ts'

/**
 * Syncs each committed change to the disk before it is acknowledged, on a thread of the runtime's pool. With `synchronous = FULL`
 * SQLite would sync on the main thread and block all calls: for milliseconds on a fast disk, for tens of them on a slow one.
 *
 * With `synchronous = NORMAL` a committed change is in the write-ahead log, and a power cut can lose only the changes since the
 * last sync of that file: none that was acknowledged. See https://www.sqlite.org/pragma.html#pragma_synchronous
 */
export class CommitSync {
  readonly #database: Database
  readonly #path: string
  readonly #watch: Pick<WriteWatch, 'markUnwritable'>
  readonly #checkpointer: Checkpointer
  #wrote = false
  #atCommit: (() => void) | undefined
  #handle: Promise<FileHandle> | undefined
  #running: Promise<void> = Promise.resolve()
  /** Starts when the running one has ended. */
  #next: Promise<void> | undefined
  /** No handle stays open from now on. */
  #closed = false
  /** The error of the last sync, while a committed change is not on the disk. */
  #unconfirmed: unknown

  /** `path`: of the database, which is in the journal mode `wal`. */
  constructor(database: Database, path: string, watch: Pick<WriteWatch, 'markUnwritable'>) {
    database.pragma('synchronous = NORMAL')
    this.#database = database
    this.#path = path
    this.#watch = watch
    this.#checkpointer = new Checkpointer(database, path)
  }

  /** Call before a statement that opens a transaction and may write. Throws while an earlier change is not on the disk. */
  beforeWrite(): void {
    if (this.#unconfirmed && !this.#checkpointed()) throw refused(this.#unconfirmed)
    this.#unconfirmed = undefined
    this.#wrote = true
  }

  /** True when `beforeWrite` was called since the last call of this method. */
  takeWrote(): boolean {
    const wrote = this.#wrote
    this.#wrote = false
    return wrote
  }

  /** Registers what runs right after the commit of the open transaction, before the sync; not after a rollback. */
  atCommit(run: () => void): void {
    this.#atCommit = run
  }

  /** Call after each commit. */
  committed(): void {
    const run = this.#atCommit
    this.#atCommit = undefined
    run?.()
  }

  /** Call after each rollback. */
  rolledBack(): void {
    this.#atCommit = undefined
  }

  /**
   * Resolves once everything committed so far is on the disk. Concurrent callers share one sync. Rejects with an error of the
   * code UNCONFIRMED.
   */
  confirm(): Promise<void> {
    // The running sync may have started before the newest change.
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#running = this.#sync()
        this.#next = undefined
        return this.#running
      })
    return this.#next
  }

  async #sync(): Promise<void> {
    try {
      this.#handle ??= open(`${this.#path}-wal`, 'r+')
      await (await this.#handle).datasync()
    } catch (error) {
      await this.#closeLog()
      if (this.#checkpointed()) return
      this.#unconfirmed = error
      this.#watch.markUnwritable()
      throw unconfirmed(error)
    }
    // A change that was committed while the database was being closed.
    if (this.#closed) return await this.#closeLog()
    this.#checkpointer.startIfDue()
  }

  /** Waits for a running checkpoint and a running sync, so that closing the database removes the log. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#checkpointer.finished()
    await (this.#next ?? this.#running).catch(() => undefined)
    await this.#closeLog()
  }

  /** Never rejects. The runtime ends the process when it collects an open handle that nothing refers to. */
  async #closeLog(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.then(open => open.close()).catch(() => undefined)
  }

  /**
   * Copies all changes into the database's own file and syncs that; returns whether it succeeded. After a failed sync the system
   * marks the log's pages as written, although it still caches their content: a second sync of the log would prove nothing.
   */
  #checkpointed(): boolean {
    try {
      const [row] = this.#database.pragma('wal_checkpoint(truncate)') as [{ busy: number; log: number }]
      return row.busy === 0 && row.log === 0
    } catch {
      return false
    }
  }
}

function unconfirmed(cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return Object.assign(new Error(`The disk did not confirm a change: ${why}`, { cause }), { code: UNCONFIRMED })
}

/** Rejects a write that would build on a change that may be lost. */
function refused(cause: unknown): Error {
  return Object.assign(new Error('The disk has not confirmed an earlier change', { cause }), { code: 'SQLITE_IOERR' })
}
