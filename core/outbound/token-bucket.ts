/** One token bucket: `burst` at once, refilled at a steady rate. */
export class TokenBucket {
  readonly #perMs: number
  readonly #burst: number
  readonly #now: () => number
  #left: number
  #atMs: number

  /** `now`: milliseconds of a clock that never goes back. */
  constructor({ perSecond, burst, now }: { perSecond: number; burst: number; now: () => number }) {
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#now = now
    this.#left = burst
    this.#atMs = now()
  }

  /** Takes one token; false if there is none. */
  take(): boolean {
    const nowMs = this.#now()
    this.#left = Math.min(this.#burst, this.#left + (nowMs - this.#atMs) * this.#perMs)
    this.#atMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
