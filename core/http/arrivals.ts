import { FairQueue } from '../domain/fair-turns.ts'

/**
 * Main-thread time for requests in one turn of the event loop, in milliseconds. An open connection waits for the others at most
 * this long plus the time of the one request that exceeds it.
 */
const TURN_MS = 5

/**
 * Starts requests in the turn of the event loop in which they arrive, until these have used up the turn's time; the others start
 * in later turns, one of each sender in turn. This is needed because the runtime serves all connections with data in one turn,
 * and accepts and serves new ones in the same turn until none waits. A client that opens connections as fast as they are
 * answered would keep all open ones waiting.
 */
export class Arrivals {
  readonly #waiting = new FairQueue<() => void>()
  /** Time of the first request of this turn; undefined when there was none. */
  #beganMs: number | undefined

  /**
   * Runs the request now, or `late`. `senderOf` names the sender, and is called only when needed; requests with the same sender
   * wait for each other. Rejects as `run` does.
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
    // Scheduled before `#takeOne` of the next turn, so it runs first.
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
