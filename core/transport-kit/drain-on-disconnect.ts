import type { WireError } from '../contract/errors.ts'

/**
 * Time after the loss of the server in which messages in flight may still fail by themselves, before the link ends, in
 * milliseconds.
 */
const LAST_WORDS_MS = 250

/**
 * Ends a link whose messages use connections of their own. Once the server or its session is lost, nothing more is sent, but
 * messages in flight may still fail by themselves, which shows whether they can be sent again: the link ends with the last of
 * them, or after 250 ms.
 */
export class DrainOnDisconnect {
  readonly #underWay: { readonly size: number }
  readonly #end: (reason: WireError) => void
  #reason: WireError | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #over = false

  /** `end` is called at most once, never after stop(), and must close all resources of the link. */
  constructor(underWay: { readonly size: number }, end: (reason: WireError) => void) {
    this.#underWay = underWay
    this.#end = end
  }

  /** Reason why the server counts as lost; undefined while it does not. */
  get reason(): WireError | undefined {
    return this.#reason
  }

  /** The link has ended or was stopped. */
  get over(): boolean {
    return this.#over
  }

  /** Call it when the server or its session is lost. False: the link was ending already, or has ended. */
  begin(reason: WireError): boolean {
    if (this.#over || this.#reason) return false
    this.#reason = reason
    this.#timer = setTimeout(() => this.end(reason), LAST_WORDS_MS)
    this.settled()
    return true
  }

  /** Call it when a message is no longer in flight. */
  settled(): void {
    if (this.#reason && this.#underWay.size === 0) this.end(this.#reason)
  }

  /** Ends the link at once. */
  end(reason: WireError): void {
    if (this.#over) return
    this.stop()
    this.#end(reason)
  }

  /** The link is closed by its owner: `end` is not called any more. */
  stop(): void {
    this.#over = true
    clearTimeout(this.#timer)
  }
}
