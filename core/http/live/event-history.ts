import { SharedQueue } from '../../transport-kit/shared-queue.ts'
import type { LiveEvent } from './live-events.ts'

/** Limits of what one topic keeps; the owner of most events loses the oldest first. */
export interface HistoryLimits {
  readonly events: number
  /** UTF-8 bytes of the texts of all events together. */
  readonly bytes: number
  readonly ageMs: number
}

interface Kept {
  readonly event: LiveEvent
  readonly addedMs: number
}

const PUBLIC = 'public'

/** The last events of one topic, for readers that reconnect. */
export class EventHistory {
  readonly #limits: HistoryLimits
  readonly #kept: SharedQueue<Kept>
  /** Number of the last event before which everything is forgotten; undefined while nothing is recorded, when it is unknown. */
  #forgotten: number | undefined
  /** The newest event of each owner that is not kept. */
  readonly #gaps = new Map<string, LiveEvent>()

  /** `followed`: every event since the start of the process will be added. */
  constructor(limits: HistoryLimits, followed: boolean) {
    this.#limits = limits
    this.#forgotten = followed ? 0 : undefined
    this.#kept = new SharedQueue({ maxCount: limits.events, maxBytes: limits.bytes }, ({ event }, holder) => {
      this.#gaps.set(holder, event)
    })
  }

  add(event: LiveEvent): void {
    this.#forgotten ??= event.number - 1
    const holder = event.isPublic ? PUBLIC : (event.ownerId ?? '')
    this.#kept.add(holder, { event, addedMs: performance.now() }, Buffer.byteLength(event.text))
    this.#dropOld()
  }

  /** Recording stops: later events will be missing. */
  interrupt(): void {
    this.#kept.clear()
    this.#gaps.clear()
    this.#forgotten = undefined
  }

  /**
   * The events after this number that a reader sees, all by default; `complete` is false when some of them are not kept.
   */
  after(
    number: number,
    sees: (event: LiveEvent) => boolean = () => true,
  ): { readonly events: readonly LiveEvent[]; readonly complete: boolean } {
    this.#dropOld()
    const isMissed = (event: LiveEvent): boolean => event.number > number && sees(event)
    const events = [...this.#kept.items()].map(({ event }) => event).filter(isMissed)
    events.sort((one, other) => one.number - other.number)
    const isFollowed = this.#forgotten !== undefined && number >= this.#forgotten
    return { events, complete: isFollowed && !this.#gaps.values().some(isMissed) }
  }

  #dropOld(): void {
    const tooOldMs = performance.now() - this.#limits.ageMs
    this.#kept.dropWhile(({ addedMs }) => addedMs < tooOldMs)
  }
}
