import { setTimeout as rest } from 'node:timers/promises'
import type { Connection } from '../connection/connection.ts'
import { within } from '../within.ts'

/** Longest wait for the calls of the shared connection and of former ones, which are not taken from them. */
const QUIET_MS = 2_000
/** Pause between the end of one connection and the start of the next: proxies pass an end on later than a start. */
const PAUSE_MS = 250

/** The parts of their server that turns use. */
export interface ConnectionTurnsOptions {
  /** The shared connection, while it is open. */
  readonly shared: () => Connection | undefined
  /** Ends the shared connection, and opens it again when `free` resolves. */
  readonly giveWay: () => void
  /** Resolves when all connections that were ended are gone. */
  readonly closed: () => Promise<unknown>
}

/**
 * Turns of connections to a server that may not survive two of them at once. Whoever has the turn opens the only connection;
 * the shared one ends before, and opens again when nobody waits for a turn.
 */
export class ConnectionTurns {
  readonly #options: ConnectionTurnsOptions
  #last: Promise<void> = Promise.resolve()

  constructor(options: ConnectionTurnsOptions) {
    this.#options = options
  }

  /**
   * Resolves once no other connection is open, with the function that ends the turn; with undefined while calls keep the
   * shared connection busy.
   */
  async take(): Promise<(() => void) | undefined> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = before.then(() => promise)
    await before
    if (!(await this.#isQuiet())) {
      resolve()
      return undefined
    }
    this.#options.giveWay()
    await this.#options.closed()
    await rest(PAUSE_MS)
    return () => void rest(PAUSE_MS).then(resolve)
  }

  /** Resolves when nobody has the turn, or waits for it. */
  async free(): Promise<void> {
    let last: Promise<void> | undefined
    while (last !== this.#last) {
      last = this.#last
      await last
    }
  }

  /** True when no call is in flight, also over a former connection that drains. */
  async #isQuiet(): Promise<boolean> {
    const connection = this.#options.shared()
    const drained = connection && connection.inFlight > 0 ? connection.drained() : undefined
    const isQuiet = await within(
      Promise.all([drained, this.#options.closed()]).then(() => true),
      QUIET_MS,
    )
    return isQuiet === true && (this.#options.shared()?.inFlight ?? 0) === 0
  }
}
