/** An object with deadlines. */
export interface Expiring {
  /** Expires what is due by `nowMs` and returns the time of the next deadline; Infinity for none. */
  sweep(nowMs: number): number
}

/**
 * One timer for all deadlines of a thread, set for the earliest of them: a call costs a comparison, not a timer. Times
 * are those of `performance.now()`.
 */
export class Deadlines {
  readonly #expiring = new Set<Expiring>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #atMs = Number.POSITIVE_INFINITY

  add(expiring: Expiring): void {
    this.#expiring.add(expiring)
  }

  delete(expiring: Expiring): void {
    this.#expiring.delete(expiring)
  }

  /** Ensures a sweep at `atMs` or earlier. */
  arm(atMs: number): void {
    if (atMs >= this.#atMs) return
    clearTimeout(this.#timer)
    this.#atMs = atMs
    // setTimeout holds at most 2^31 ms; an earlier sweep does no harm.
    this.#timer = setTimeout(
      () => this.#sweep(),
      Math.min(Math.max(0, Math.ceil(atMs - performance.now())), 86_400_000),
    )
  }

  #sweep(): void {
    this.#atMs = Number.POSITIVE_INFINITY
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    for (const expiring of [...this.#expiring]) next = Math.min(next, expiring.sweep(now))
    if (next !== Number.POSITIVE_INFINITY) this.arm(next)
  }
}
