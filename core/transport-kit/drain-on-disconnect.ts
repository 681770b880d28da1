import type { WireError } from './wire-error.ts'

/** Callbacks of a `DrainOnDisconnect`; those of a `TransportIo` fit. */
export interface DrainCallbacks {
  /** The server or its session is lost. The hub ends the link after the last answer. Called at most once. */
  readonly lost: (reason: WireError) => void
  /** The link has ended; all of its resources must be closed. Called at most once, and never after stop(). */
  readonly closed: (reason: WireError) => void
}

/**
 * State of a link whose messages use connections of their own. Once the server or its session is lost, no more requests are sent,
 * but those in flight may still be answered, or fail by themselves, which shows whether they can be sent again.
 */
export class DrainOnDisconnect {
  readonly #callbacks: DrainCallbacks
  #reason: WireError | undefined
  #over = false

  constructor(callbacks: DrainCallbacks) {
    this.#callbacks = callbacks
  }

  /** Reason why the server or its session counts as lost; undefined while it does not. */
  get reason(): WireError | undefined {
    return this.#reason
  }

  /** The link has ended or was stopped. */
  get over(): boolean {
    return this.#over
  }

  /** Call it when the server or its session is lost. False: it was lost already, or the link has ended. */
  begin(reason: WireError): boolean {
    if (this.#over || this.#reason) return false
    this.#reason = reason
    this.#callbacks.lost(reason)
    return true
  }

  /** Ends the link at once. */
  end(reason: WireError): void {
    if (this.#over) return
    this.stop()
    this.#callbacks.closed(reason)
  }

  /** The link is closed by its owner: no callback is called any more. */
  stop(): void {
    this.#over = true
  }
}
