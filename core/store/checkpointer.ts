import type Database from 'better-sqlite3'
import { startThread } from '../events/thread-starts.ts'

/** Length of the log, in pages, at which a checkpoint is worth it; SQLite's default, 4 MB. */
const CHECKPOINT_PAGES = 1_000
/** Length at which SQLite checkpoints on the main thread: the worker could not start, or changes never paused while it ran. */
const MAX_PAGES = 8_000

/** Checkpoints the write-ahead log in a worker, since a checkpoint waits for the disk twice. */
export class Checkpointer {
  readonly #database: Database
  readonly #path: string
  #running: Promise<void> | undefined

  constructor(database: Database, path: string) {
    database.pragma(`wal_autocheckpoint = ${MAX_PAGES}`)
    this.#database = database
    this.#path = path
  }

  /** Starts a checkpoint if the log is long. Never throws: the change after which it is called is already confirmed. */
  startIfDue(): void {
    if (this.#running !== undefined || this.#pendingPages() < CHECKPOINT_PAGES) return
    this.#running = checkpoint(this.#path).finally(() => {
      this.#running = undefined
    })
  }

  #pendingPages(): number {
    try {
      const [row] = this.#database.pragma('wal_checkpoint(noop)') as [{ log: number; checkpointed: number }]
      return row.log - row.checkpointed
    } catch {
      // Read again after the next change.
      return 0
    }
  }

  /** Resolves once a running checkpoint has ended. */
  async finished(): Promise<void> {
    await this.#running
  }
}

function checkpoint(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // The hub's environment contains secrets, which the worker does not need.
  const options = { env: {}, name: 'patchbay-checkpoint', smol: true } as WorkerOptions
  const worker = startThread(() => new Worker(new URL('./checkpoint-worker.ts', import.meta.url).href, options))
  worker.postMessage(path)
  worker.onmessage = () => worker.terminate()
  // After a failure the log is only longer.
  worker.onerror = event => {
    event.preventDefault()
    worker.terminate()
  }
  worker.addEventListener('close', () => resolve())
  return promise
}
