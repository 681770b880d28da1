import { HubError } from '../contract/errors.ts'

/** Longest wait for a database that does not respond, in milliseconds: a caller gets its error within 5 s. */
const SILENT_MS = 4_500

/** Detects a database that does not respond at all, for any reason: no connection, no free pool slot, no answer. */
export class Silence {
  readonly #silentMs: number
  #answeredAtMs = Number.NEGATIVE_INFINITY

  constructor(silentMs = SILENT_MS) {
    this.#silentMs = silentMs
  }

  /** A statement was answered. */
  recordAnswer(): void {
    this.#answeredAtMs = performance.now()
  }

  /**
   * The outcome of work on the database, or `storage_unavailable` when no statement of any caller was answered within the limit.
   * The work then continues in the background: `over` returns true, and it must not commit. Slow work on a database that
   * responds is not interrupted.
   */
  async within<T>(work: (over: () => boolean) => Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    let isOver = false
    const check = (): void => {
      const leftMs = this.#answeredAtMs + this.#silentMs - performance.now()
      // An answer from around the start of the work does not show that the database still responds.
      if (leftMs > this.#silentMs / 10) {
        timer = setTimeout(check, leftMs)
        return
      }
      isOver = true
      reject(new HubError('storage_unavailable', 'The database does not answer', { retryAfterSeconds: 5 }))
    }
    let timer = setTimeout(check, this.#silentMs)
    try {
      return await Promise.race([work(() => isOver), promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
