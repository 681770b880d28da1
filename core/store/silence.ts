import { HubError } from '../contract/errors.ts'

/** Longest wait for a database that says nothing: whoever asked is to have its answer within 5 s. */
const SILENT_MS = 4_500

/** Notices that a database says nothing at all any more, whatever that is: no connection, no place among them, no answer. */
export class Silence {
  readonly #silentMs: number
  #heardAtMs = Number.NEGATIVE_INFINITY

  constructor(silentMs = SILENT_MS) {
    this.#silentMs = silentMs
  }

  /** It has answered somebody. */
  heard(): void {
    this.#heardAtMs = performance.now()
  }

  /**
   * The outcome of work on the database, or `storage_unavailable` once nobody was answered for so long. The work goes on by
   * itself then: `over` says so, and nothing of it may be kept. Work that takes longer on a database that answers is not cut.
   */
  async within<T>(work: (over: () => boolean) => Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    let isOver = false
    const check = (): void => {
      const leftMs = this.#heardAtMs + this.#silentMs - performance.now()
      // What was heard as the work began is no sign of life.
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
