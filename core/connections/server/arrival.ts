import type { WireError } from '../../contract/errors.ts'
import type { ListsOutcome } from '../protocol.ts'
import type { ServerState } from './server-state.ts'

/** How long a server that answers stays `connecting` for the sake of its lists: longer than thousands of tools take. */
const LISTS_MS = 10_000

const LATE: WireError = {
  code: 'upstream_timeout',
  message: 'Its lists are not read yet; those known before count until they are',
}

/**
 * From a connection on which calls can be sent to a server that is `online`: once its lists were read, or could not be, or
 * after 10 s. Why they are not known is the reason of its state then.
 */
export class Arrival {
  readonly #serverState: ServerState
  #arrived: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  readonly #listsMs: number

  /** `listsMs`: how long it waits for the lists. */
  constructor(serverState: ServerState, listsMs = LISTS_MS) {
    this.#serverState = serverState
    this.#listsMs = listsMs
  }

  /** It can be called; `arrived` follows once it is online. */
  begin(arrived: () => void): void {
    this.end()
    this.#serverState.attempts = 0
    this.#arrived = arrived
    this.#timer = setTimeout(() => this.#online(LATE), this.#listsMs)
  }

  /** A reading is over. */
  read({ again, failed }: ListsOutcome): void {
    const { state, reason } = this.#serverState.now
    if (again.length > 0) return
    if (this.#arrived) this.#online(failed)
    else if (state === 'online' && (reason ?? failed)) this.#serverState.become('online', failed)
  }

  /** The connection is gone. */
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
