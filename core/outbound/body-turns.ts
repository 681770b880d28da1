/** How long one body may keep the turn while others wait for it, in milliseconds. */
const TURN_MS = 5_000

/** A body that cannot be held as a whole beside others. */
export interface LargeBody {
  /** It may go on. */
  proceed(): void
}

/**
 * Lets large bodies be read one after the other, so that many that come at once do not lie in memory together. One that takes
 * more than 5 s while others wait lets the next go on beside it: a server that stops in the middle holds nobody up for longer.
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

  /** True when the body may go on at once; else it must stop until `proceed` is called. */
  enter(body: LargeBody): boolean {
    if (!this.#holder && !this.#paused) {
      this.#holder = body
      return true
    }
    this.#waiting.add(body)
    this.#timer ??= setTimeout(() => this.#next(), this.#turnMs)
    return false
  }

  /** It is whole, or not wanted any more. */
  leave(body: LargeBody): void {
    if (this.#waiting.delete(body) || this.#holder !== body) return
    this.#holder = undefined
    if (!this.#paused) this.#next()
  }

  /** No further body goes on until `resume`, but for those that waited for 5 s. */
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
