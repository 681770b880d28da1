import type { WireError } from '../../contract/errors.ts'
import type { ListsOutcome } from '../protocol.ts'
import type { ServerState } from './server-state.ts'

/** How long a connected server stays `connecting` while its lists are read: longer than thousands of tools take. */
const LISTS_MS = 10_000

const LATE: WireError = {
  code: 'upstream_timeout',
  message: 'Its lists are not read yet; those known before count until they are',
}

/**
 * Moves a server from `connecting` to `online`: once its lists were read, or reading failed, or after 10 s. If the
 * lists are missing, the state's reason says why.
 */
export class Arrival {
  readonly #serverState: ServerState
  #arrived: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  readonly #listsMs: number

  /** `listsMs`: the longest wait for the lists. */
  constructor(serverState: ServerState, listsMs = LISTS_MS) {
    this.#serverState = serverState
    this.#listsMs = listsMs
  }

  /** The server can be called; `arrived` is called once it is online. */
  begin(arrived: () => void): void {
    this.end()
    this.#serverState.attempts = 0
    this.#arrived = arrived
    this.#timer = setTimeout(() => this.#online(LATE), this.#listsMs)
  }

  /** A reading of the lists has ended. */
  read({ again, failed }: ListsOutcome): void {
    const { state, reason } = this.#serverState.now
    if (again.length > 0) return
    if (this.#arrived) this.#online(failed)
    else if (state === 'online' && (reason ?? failed)) this.#serverState.become('online', failed)
  }

  /** The connection has ended. */
  end(): void {
    clearTimeout(this.#timer)
    this.#arrived = undefined
  }

  #online(reason: WireError | undefined): void {
    const arrived = this.#arrived
    this.end()
    this.#serverState.become('online', reason)
    arrived?.()
  }
}
