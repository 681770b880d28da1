import { setTimeout as sleep } from 'node:timers/promises'
import { HubError } from '../contract/errors.ts'

/** A user's next work begins no sooner than this many times as long as the last one took: others' turns come in between. */
const PAUSE_FACTOR = 3
const MOST_WAITING = 20

/**
 * Work on copies of rows, one at a time, since each holds a copy of what it reads in memory. Of each user one waits or runs; nobody
 * waits for another one's pause.
 */
export class PlanTurns {
  readonly #users = new Set<string>()
  /** By user: the pause after the last work. */
  readonly #pauses = new Map<string, Promise<void>>()
  #last: Promise<unknown> = Promise.resolve()

  /** `what`: a noun for messages. Throws `overloaded` while this user has another one, or 20 wait. */
  async take<T>(userId: string, what: string, work: () => Promise<T>): Promise<T> {
    if (this.#users.has(userId) || this.#users.size >= MOST_WAITING) {
      const why = this.#users.has(userId) ? `Another ${what} of yours is under way` : `Too many ${what}s are under way`
      throw new HubError('overloaded', why, { retryAfterSeconds: 2 })
    }
    this.#users.add(userId)
    try {
      await this.#pauses.get(userId)
      const result = this.#last.then(() => this.#run(userId, work))
      this.#last = result.catch(() => undefined)
      return await result
    } finally {
      this.#users.delete(userId)
    }
  }

  async #run<T>(userId: string, work: () => Promise<T>): Promise<T> {
    const begunAtMs = performance.now()
    try {
      return await work()
    } finally {
      this.#pause(userId, (performance.now() - begunAtMs) * PAUSE_FACTOR)
    }
  }

  #pause(userId: string, ms: number): void {
    const pause = sleep(ms, undefined, { ref: false }).then(() => void this.#pauses.delete(userId))
    this.#pauses.set(userId, pause)
  }
}
