import type { WireError } from '../../transport-kit/wire-error.ts'
import { within } from '../within.ts'
import type { Connection } from './connection.ts'

/** Longest time that calls have to end over a connection that another one replaces. */
const DRAIN_MS = 30_000

/** The reason for calls that did not end within that time. */
const LATE: WireError = {
  code: 'connection_lost',
  message: `Another connection took the place of this one, and the call did not end within ${DRAIN_MS / 1_000} s over it`,
}

/** Owner of a connection that not all callers share. */
export interface DrainedOwner {
  readonly key: string
  readonly userId: string
}

/** Facts about a connection that drains. */
export interface DrainedConnection {
  /** Absent for the one that all callers share. */
  readonly owner?: DrainedOwner
  /** True when the server has lost it, so that another one is no second one for the server. */
  readonly isLost?: boolean
}

interface Draining extends DrainedConnection {
  readonly ended: Promise<void>
}

/** The former connections of one server: each takes no more calls, and ends with the last one that it has. */
export class DrainingConnections {
  readonly #all = new Map<Connection, Draining>()
  readonly #last: () => void

  /** `last`: called when the last one has ended. */
  constructor(last: () => void) {
    this.#last = last
  }

  get inFlight(): number {
    let count = 0
    for (const connection of this.#all.keys()) count += connection.inFlight
    return count
  }

  /** Resolves when all that drain now have ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#all.values()].map(({ ended }) => ended))
  }

  /** The same for those that the server has not lost. */
  async givenUp(): Promise<void> {
    await Promise.all([...this.#all.values()].map(({ ended, isLost }) => (isLost ? undefined : ended)))
  }

  /** Takes over a connection with calls in flight; `reason` is for its end. The caller sends no more calls over it. */
  add(connection: Connection, reason: WireError, facts: DrainedConnection = {}): void {
    const ended = this.#end(connection, reason).finally(() => {
      this.#all.delete(connection)
      if (this.#all.size === 0) this.#last()
    })
    this.#all.set(connection, { ...facts, ended })
  }

  /** Ends them at once, or those of the owners that `which` chooses. */
  close(reason: WireError, which?: (owner: DrainedOwner) => boolean): void {
    for (const [connection, { owner }] of this.#all)
      if (which === undefined || (owner && which(owner))) void connection.close(reason)
  }

  async #end(connection: Connection, reason: WireError): Promise<void> {
    await within(connection.drained(), DRAIN_MS)
    await connection.close(connection.inFlight > 0 ? LATE : reason)
  }
}
