import { type FileHandle, open } from 'node:fs/promises'
import type Database from 'better-sqlite3'
import { Checkpointer } from './checkpointer.ts'

/** The code of a change that stands in the tables and that the disk did not confirm. */
export const UNCONFIRMED = 'SQLITE_IOERR_FSYNC'

/** A committed change may be lost when the machine stops: the disk refused to confirm it. */
export class UnconfirmedCommit extends Error {
  override readonly name = 'UnconfirmedCommit'
  readonly code = UNCONFIRMED

  constructor(cause: unknown) {
    super(`The disk did not confirm a change: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/**
 * Has the disk confirm each change before it is acknowledged, on a thread of the runtime. SQLite would wait for the disk on the
 * main thread (`synchronous = FULL`), and all calls with it: milliseconds a change on a good disk, tens on a slow one.
 *
 * With `synchronous = NORMAL` a change stands in the write-ahead log once it is committed, and a power cut loses the changes
 * since the last sync of that file, the newest first: none that was acknowledged. See https://www.sqlite.org/pragma.html#pragma_synchronous
 */
export class CommitSync {
  readonly #database: Database
  readonly #path: string
  readonly #checkpointer: Checkpointer
  #wrote = false
  #handle: Promise<FileHandle> | undefined
  /** Why a change that was committed is not on the disk. */
  #unconfirmed: unknown

  /** `path`: of the database, which is in the journal mode `wal`. */
  constructor(database: Database, path: string) {
    database.pragma('synchronous = NORMAL')
    this.#database = database
    this.#path = path
    this.#checkpointer = new Checkpointer(database, path)
  }

  /** To be called before a statement that may write and begins a transaction. Throws while an earlier change is not on the disk. */
  beforeWrite(): void {
    if (this.#unconfirmed && !this.#moved()) throw refused(this.#unconfirmed)
    this.#unconfirmed = undefined
    this.#wrote = true
  }

  /** To be called after each statement: resolves once what was committed is on the disk. Rejects with UnconfirmedCommit. */
  async afterStatement(): Promise<void> {
    if (!this.#wrote || this.#database.inTransaction) return
    this.#wrote = false
    try {
      this.#handle ??= open(`${this.#path}-wal`, 'r+')
      await (await this.#handle).datasync()
    } catch (error) {
      this.#handle = undefined
      if (this.#moved()) return
      this.#unconfirmed = error
      throw new UnconfirmedCommit(error)
    }
    this.#checkpointer.look()
  }

  /** Ends the thread, if one runs, so that closing the database leaves one file. */
  async close(): Promise<void> {
    await this.#checkpointer.end()
    await this.#handle?.then(handle => handle.close()).catch(() => undefined)
  }

  /**
   * Moves all changes into the database's own file, and returns whether that is synced. After a failure the system takes the pages
   * of the log for written, though it still holds what is in them: a second sync of the log would prove nothing.
   */
  #moved(): boolean {
    try {
      const [row] = this.#database.pragma('wal_checkpoint(truncate)') as [{ busy: number; log: number }]
      return row.busy === 0 && row.log === 0
    } catch {
      return false
    }
  }
}

/** Nothing is written: the change would stand on one that may be lost. */
function refused(cause: unknown): Error {
  return Object.assign(new Error('The disk has not confirmed an earlier change', { cause }), { code: 'SQLITE_IOERR' })
}
