import type { LiveEvent } from './live-events.ts'

/** Limits of what one topic keeps; the oldest events are dropped first. */
export interface HistoryLimits {
  readonly events: number
  /** UTF-8 bytes of the texts of all events together. */
  readonly bytes: number
  readonly ageMs: number
}

interface Kept {
  readonly event: LiveEvent
  readonly bytes: number
  readonly addedMs: number
}

/** The last events of one topic, for readers that reconnect. */
export class EventHistory {
  readonly #limits: HistoryLimits
  /** Oldest first. */
  readonly #kept: Kept[] = []
  #bytes = 0
  /** Number of the last event that is not kept; undefined while nothing is recorded, when it is unknown. */
  #forgotten: number | undefined

  /** `followed`: every event since the start of the process will be added. */
  constructor(limits: HistoryLimits, followed: boolean) {
    this.#limits = limits
    this.#forgotten = followed ? 0 : undefined
  }

  add(event: LiveEvent): void {
    this.#forgotten ??= event.number - 1
    const bytes = Buffer.byteLength(event.text)
    this.#kept.push({ event, bytes, addedMs: performance.now() })
    this.#bytes += bytes
    this.#forgetOld()
  }

  /** Recording stops: later events will be missing. */
  interrupt(): void {
    this.#kept.length = 0
    this.#bytes = 0
    this.#forgotten = undefined
  }

  /** The events after this number; `complete` is false when some of them are not kept. */
  after(number: number): { readonly events: readonly LiveEvent[]; readonly complete: boolean } {
    this.#forgetOld()
    const events = this.#kept.map(({ event }) => event).filter(event => event.number > number)
    return { events, complete: this.#forgotten !== undefined && number >= this.#forgotten }
  }

  #forgetOld(): void {
    const { events, bytes, ageMs } = this.#limits
    const tooOldMs = performance.now() - ageMs
    for (;;) {
      const [oldest] = this.#kept
      if (!oldest || (this.#kept.length <= events && this.#bytes <= bytes && oldest.addedMs >= tooOldMs)) return
      this.#kept.shift()
      this.#bytes -= oldest.bytes
      this.#forgotten = oldest.event.number
    }
  }
}
