import type { WireError } from '../contract/errors.ts'

/** How long messages under way may still learn for themselves that the server is gone, before the link ends. */
const LAST_WORDS_MS = 250

/**
 * The end of a link whose messages travel on connections of their own. Once the server or its session is gone, nothing more is
 * sent, but what is under way may still learn its own end, so that it can be sent anew: the link ends with the last of it, or
 * after 250 ms.
 */
export class DrainOnDisconnect {
  readonly #underWay: { readonly size: number }
  readonly #end: (reason: WireError) => void
  #reason: WireError | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #over = false

  /** `end` is called once at the most, never after stop(), and takes down what the link holds open. */
  constructor(underWay: { readonly size: number }, end: (reason: WireError) => void) {
    this.#underWay = underWay
    this.#end = end
  }

  /** Why the server counts as gone; undefined as long as it does not. */
  get reason(): WireError | undefined {
    return this.#reason
  }

  /** The link has ended or was stopped. */
  get over(): boolean {
    return this.#over
  }

  /** The server or its session is gone. False: the link was ending already, or has ended. */
  begin(reason: WireError): boolean {
    if (this.#over || this.#reason) return false
    this.#reason = reason
    this.#timer = setTimeout(() => this.end(reason), LAST_WORDS_MS)
    this.settled()
    return true
  }

  /** To be called when a message is not under way any more. */
  settled(): void {
    if (this.#reason && this.#underWay.size === 0) this.end(this.#reason)
  }

  /** Ends the link without waiting for anything. */
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
