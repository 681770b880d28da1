import { type FileHandle, open } from 'node:fs/promises'
import type Database from 'better-sqlite3'
import { Checkpointer } from './checkpointer.ts'
import { UNCONFIRMED } from './errors.ts'
import type { WriteWatch } from './write-watch.ts'

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
  readonly #watch: Pick<WriteWatch, 'refuse'>
  readonly #checkpointer: Checkpointer
  #wrote = false
  #handle: Promise<FileHandle> | undefined
  #running: Promise<void> = Promise.resolve()
  /** Begins once the running one has ended. */
  #next: Promise<void> | undefined
  /** Why a change that was committed is not on the disk. */
  #unconfirmed: unknown

  /** `path`: of the database, which is in the journal mode `wal`. */
  constructor(database: Database, path: string, watch: Pick<WriteWatch, 'refuse'>) {
    database.pragma('synchronous = NORMAL')
    this.#database = database
    this.#path = path
    this.#watch = watch
    this.#checkpointer = new Checkpointer(database, path)
  }

  /** To be called before a statement that begins a transaction and may write. Throws while an earlier change is not on the disk. */
  beforeWrite(): void {
    if (this.#unconfirmed && !this.#moved()) throw refused(this.#unconfirmed)
    this.#unconfirmed = undefined
    this.#wrote = true
  }

  /** Whether something may have been written since this was asked last. */
  takeWrote(): boolean {
    const wrote = this.#wrote
    this.#wrote = false
    return wrote
  }

  /**
   * Resolves once all that is committed now is on the disk. Many that ask at the same time wait for one sync. Rejects with an
   * error of the code UNCONFIRMED.
   */
  confirm(): Promise<void> {
    // The running one may have begun before the newest change.
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
      this.#handle = undefined
      if (this.#moved()) return
      this.#unconfirmed = error
      this.#watch.refuse()
      throw unconfirmed(error)
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

function unconfirmed(cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause)
  return Object.assign(new Error(`The disk did not confirm a change: ${why}`, { cause }), { code: UNCONFIRMED })
}

/** Nothing is written: the change would stand on one that may be lost. */
function refused(cause: unknown): Error {
  return Object.assign(new Error('The disk has not confirmed an earlier change', { cause }), { code: 'SQLITE_IOERR' })
}
