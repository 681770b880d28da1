import { HubError } from '../contract/errors.ts'

const MOST_WAITING = 5

/** Runs one thing after another; some wait. */
export class OneAtATime {
  readonly #busy: string
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** `busy`: the text of the error `overloaded`. */
  constructor(busy: string) {
    this.#busy = busy
  }

  /** Throws `overloaded` when five others wait or run. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MOST_WAITING) throw new HubError('overloaded', this.#busy, { retryAfterSeconds: 2 })
    this.#waiting += 1
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      this.#waiting -= 1
    }
  }
}
