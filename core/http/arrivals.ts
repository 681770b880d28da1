import { FairQueue } from '../domain/fair-turns.ts'

/**
 * Time of the main thread that requests may take in one turn of the event loop, in milliseconds. With what one request takes in
 * one piece, it is what an open connection waits at most for others.
 */
const TURN_MS = 5
/** Requests that are taken from the queue in one turn, if they take that little time. */
const MOST_A_TURN = 32

/**
 * Starts requests in the turn of the event loop in which they arrive, as long as these have taken little time; those that remain
 * start in later turns, one of each sender in turn.
 *
 * Needed since the runtime serves all connections that have sent something in one turn, and accepts new ones, and serves these
 * at once, until none waits. Somebody who opens connections as fast as they are answered would keep all open ones waiting.
 */
export class Arrivals {
  readonly #waiting = new FairQueue<() => void>()
  /** Of the first request of this turn; undefined when there was none. */
  #beganMs: number | undefined

  /**
   * Runs the request now or later. `senderOf` names who sent it, when that is needed: what is not told apart waits for each
   * other. Rejects as `run` does.
   */
  start<T>(senderOf: () => string, run: () => T | Promise<T>): T | Promise<T> {
    if (this.#waiting.size > 0 || this.#over) {
      return new Promise<void>(resolve => this.#waiting.push(senderOf(), resolve)).then(run)
    }
    if (this.#beganMs === undefined) {
      this.#beganMs = performance.now()
      setImmediate(this.#nextTurn)
    }
    return run()
  }

  get #over(): boolean {
    return this.#beganMs !== undefined && performance.now() - this.#beganMs > TURN_MS
  }

  readonly #nextTurn = (): void => {
    this.#beganMs = undefined
    const { size } = this.#waiting
    if (size === 0) return
    // Each in a task of its own: what one starts runs before the next one, until it waits for something.
    for (let count = Math.min(size, MOST_A_TURN); count > 0; count -= 1) setImmediate(this.#takeOne)
    setImmediate(this.#nextTurn)
  }

  readonly #takeOne = (): void => {
    this.#beganMs ??= performance.now()
    if (!this.#over) this.#waiting.shift()?.()
  }
}
