/** Time for which one body may be read alone while others are queued, in milliseconds. */
const TURN_MS = 5_000

/** A body that is too large to be buffered at the same time as others. */
export interface LargeBody {
  /** Reading may continue. */
  proceed(): void
}

/**
 * Reads large bodies one after the other, so that they are not in memory at the same time. A body that takes more than 5 s while
 * others are queued no longer blocks the next: a stalled server does not delay the others for longer.
 */
export class BodyTurns {
  readonly #waiting = new Set<LargeBody>()
  readonly #turnMs: number
  #holder: LargeBody | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #paused = false

  /** `turnMs`: for tests. */
  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs
  }

  /** True when the body may be read at once; otherwise it must pause until `proceed` is called. */
  enter(body: LargeBody): boolean {
    if (!this.#holder && !this.#paused) {
      this.#holder = body
      return true
    }
    this.#waiting.add(body)
    this.#timer ??= setTimeout(() => this.#next(), this.#turnMs)
    return false
  }

  /** The body is complete, or no longer needed. */
  leave(body: LargeBody): void {
    if (this.#waiting.delete(body) || this.#holder !== body) return
    this.#holder = undefined
    if (!this.#paused) this.#next()
  }

  /** No further body is read until `resume`, except those that were queued for 5 s. */
  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    if (!this.#holder && this.#waiting.size > 0) this.#next()
  }

  #next(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const [next] = this.#waiting
    this.#holder = next
    if (!next) return
    this.#waiting.delete(next)
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#next(), this.#turnMs)
    next.proceed()
  }
}
