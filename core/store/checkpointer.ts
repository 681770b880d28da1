import type Database from 'better-sqlite3'

/** Pages of the log that are moved at once, SQLite's default: 4 MB. */
const PAGES = 1_000
/** Where SQLite moves them itself, on the main thread: the thread always came too late, or cannot run. */
const PAGES_AT_MOST = 8_000

/** Moves the write-ahead log into the database's file on a thread of its own, since that waits for the disk twice. */
export class Checkpointer {
  readonly #database: Database
  readonly #path: string
  #running: Promise<void> | undefined

  constructor(database: Database, path: string) {
    database.pragma(`wal_autocheckpoint = ${PAGES_AT_MOST}`)
    this.#database = database
    this.#path = path
  }

  /** Starts the thread when the log has grown long. Never throws: what was written is confirmed already. */
  look(): void {
    if (this.#running !== undefined || this.#unmoved() < PAGES) return
    this.#running = moved(this.#path).finally(() => {
      this.#running = undefined
    })
  }

  #unmoved(): number {
    try {
      const [row] = this.#database.pragma('wal_checkpoint(noop)') as [{ log: number; checkpointed: number }]
      return row.log - row.checkpointed
    } catch {
      // Asked again after the next change.
      return 0
    }
  }

  /** Resolves once the thread has ended. */
  async end(): Promise<void> {
    await this.#running
  }
}

function moved(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // The hub's environment contains secrets, which the thread does not need.
  const options = { env: {}, name: 'patchbay-checkpoint', smol: true } as WorkerOptions
  const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url).href, options)
  worker.postMessage(path)
  worker.onmessage = () => worker.terminate()
  // A failure costs nothing but a longer log.
  worker.onerror = event => {
    event.preventDefault()
    worker.terminate()
  }
  worker.addEventListener('close', () => resolve())
  return promise
}
