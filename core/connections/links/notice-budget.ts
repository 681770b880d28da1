/**
 * How many notifications of one connection may reach the main thread: what floods is dropped here, since each costs
 * main as much as an answer. Refills by `perSecond`, up to `burst`.
 */
export class NoticeBudget {
  readonly #perMs: number
  readonly #burst: number
  #left: number
  #atMs = 0
  #dropped = 0

  constructor(perSecond: number, burst: number) {
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#left = burst
  }

  spend(nowMs: number): boolean {
    this.#left = Math.min(this.#burst, this.#left + (nowMs - this.#atMs) * this.#perMs)
    this.#atMs = nowMs
    if (this.#left >= 1) {
      this.#left -= 1
      return true
    }
    this.#dropped += 1
    return false
  }

  /** How many were dropped since the last question. */
  takeDropped(): number {
    const dropped = this.#dropped
    this.#dropped = 0
    return dropped
  }
}
