import { setTimeout as sleep } from 'node:timers/promises'
import { HubError } from '../contract/errors.ts'
import type { OpenRegistry, TogetherParts } from '../registry/create.ts'

/** The database is left to others for at least this many times as long as an import took. */
const PAUSE_FACTOR = 3
const MOST_WAITING = 20

/**
 * One import at a time: SQLite has one connection that writes, which the transaction of an import holds. Of each user one waits or
 * runs.
 */
export class ImportTurns {
  readonly #together: OpenRegistry['together']
  readonly #users = new Set<string>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(together: OpenRegistry['together']) {
    this.#together = together
  }

  /** Throws `overloaded` while this user has another one, or 20 wait. */
  async take<T>(userId: string, work: (parts: TogetherParts) => Promise<T>): Promise<T> {
    if (this.#users.has(userId) || this.#users.size >= MOST_WAITING) {
      const what = this.#users.has(userId) ? 'Another import of yours is under way' : 'Too many imports are under way'
      throw new HubError('overloaded', what, { retryAfterSeconds: 2 })
    }
    this.#users.add(userId)
    const turn = this.#last.then(() => this.#run(work))
    this.#last = turn.then(({ pause }) => pause)
    const { result } = await turn.finally(() => this.#users.delete(userId))
    return result
  }

  /** Never rejects; the result may. */
  async #run<T>(work: (parts: TogetherParts) => Promise<T>): Promise<{ result: Promise<T>; pause: Promise<unknown> }> {
    const begunAtMs = performance.now()
    const result = this.#together(work)
    await result.catch(() => undefined)
    return { result, pause: sleep((performance.now() - begunAtMs) * PAUSE_FACTOR) }
  }
}
