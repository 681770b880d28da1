import { FairQueue } from '../domain/fair-turns.ts'

/**
 * Time of the main thread that requests may take in one turn of the event loop, in milliseconds. With what one request takes in
 * one piece, it is what an open connection waits at most for others.
 */
const TURN_MS = 5

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
   * Runs the request now, or `late`. `senderOf` names who sent it, when that is needed: what is not told apart waits for each
   * other. Rejects as `run` does.
   */
  start<T>(senderOf: () => string, run: (late: boolean) => T | Promise<T>): T | Promise<T> {
    if (this.#waiting.size > 0 || this.#over) {
      return new Promise<void>(resolve => {
        this.#waiting.push(senderOf(), resolve)
        setImmediate(this.#takeOne)
      }).then(() => run(true))
    }
    this.#begin()
    return run(false)
  }

  get #over(): boolean {
    return this.#beganMs !== undefined && performance.now() - this.#beganMs > TURN_MS
  }

  #begin(): void {
    if (this.#beganMs !== undefined) return
    this.#beganMs = performance.now()
    // Before those that are taken in the next turn, since they are asked for later.
    setImmediate(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#beganMs = undefined
  }

  /** A task of its own for each: what one starts runs before the next one, until it waits for something. */
  readonly #takeOne = (): void => {
    this.#begin()
    if (this.#over) setImmediate(this.#takeOne)
    else this.#waiting.shift()?.()
  }
}
