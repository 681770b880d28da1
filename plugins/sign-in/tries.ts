import { HubError } from 'patchbay/contract'

/** Failures without a wait, for mistyped codes. */
const FREE_FAILURES = 5
const FIRST_WAIT_MS = 1_000
/** Somebody who has the password tries 24 codes a day, of a million. */
const LONGEST_WAIT_MS = 3_600_000
const MOST_KEYS = 10_000

interface Failures {
  readonly count: number
  readonly openAtMs: number
}

/** Slows down guesses of codes, by user: whoever tries them has the password. */
export class Tries {
  readonly #failures = new Map<string, Failures>()
  readonly #now: () => number

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * Counts a try as failed until its outcome is known, so that parallel ones cannot exceed the limit. After 5 failures it waits
   * 1 s, doubling to an hour. Returns the function that forgets the failures. Throws `login_throttled`.
   */
  begin(key: string): () => void {
    const nowMs = this.#now()
    const { count, openAtMs } = this.#failures.get(key) ?? { count: 0, openAtMs: 0 }
    if (openAtMs > nowMs) {
      const retryAfterSeconds = Math.max(1, Math.ceil((openAtMs - nowMs) / 1_000))
      throw new HubError('login_throttled', `Too many wrong codes: wait ${retryAfterSeconds} s`, { retryAfterSeconds })
    }
    this.#failures.delete(key)
    this.#failures.set(key, { count: count + 1, openAtMs: nowMs + waitAfterMs(count + 1) })
    if (this.#failures.size > MOST_KEYS) this.#failures.delete(this.#failures.keys().next().value as string)
    return () => this.#failures.delete(key)
  }
}

function waitAfterMs(failures: number): number {
  if (failures < FREE_FAILURES) return 0
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - FREE_FAILURES))
}
