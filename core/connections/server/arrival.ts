import type { WireError } from '../../contract/errors.ts'
import type { ListsOutcome } from '../protocol.ts'
import type { Observed } from './observed.ts'

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
  readonly #observed: Observed
  #arrived: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  readonly #listsMs: number

  /** `listsMs`: how long it waits for the lists. */
  constructor(observed: Observed, listsMs = LISTS_MS) {
    this.#observed = observed
    this.#listsMs = listsMs
  }

  /** It can be called; `arrived` follows once it is online. */
  begin(arrived: () => void): void {
    this.end()
    this.#observed.attempts = 0
    this.#arrived = arrived
    this.#timer = setTimeout(() => this.#online(LATE), this.#listsMs)
  }

  /** A reading is over. */
  read({ again, failed }: ListsOutcome): void {
    const { state, reason } = this.#observed.now
    if (again.length > 0) return
    if (this.#arrived) this.#online(failed)
    else if (state === 'online' && (reason ?? failed)) this.#observed.become('online', failed)
  }

  /** The connection is gone. */
  end(): void {
    clearTimeout(this.#timer)
    this.#arrived = undefined
  }

  #online(reason: WireError | undefined): void {
    const arrived = this.#arrived
    this.end()
    this.#observed.become('online', reason)
    arrived?.()
  }
}
