import type { UserActor } from '../contract/records.ts'
import type { EventName, HubEvent } from '../events/catalog.ts'

export const TOPICS = ['servers', 'logs', 'alerts', 'metrics', 'calls'] as const
export type Topic = (typeof TOPICS)[number]

/** An event as it is told, its text made once for all readers. */
export interface LiveEvent {
  /** The process and the event's number in it: a number alone would mean another event after a restart. */
  readonly id: string
  readonly name: EventName
  readonly topic: Topic
  /** Rises within one process. */
  readonly number: number
  readonly ownerId: string | null
  readonly isPublic: boolean
  /** JSON of `{id, event, at, owner, data}`. */
  readonly text: string
}

/** Own events, public ones, and for administrators all. Internal ones never come this far. */
export function visibleTo(event: LiveEvent, actor: UserActor): boolean {
  return event.isPublic || actor.role === 'admin' || (event.ownerId !== null && event.ownerId === actor.userId)
}

export function liveEvent(
  boot: string,
  topic: Topic,
  event: HubEvent,
  ownerNames: ReadonlyMap<string, string>,
): LiveEvent {
  const { id: number, name, at, ownerId, audience } = event
  const id = `${boot}-${number}`
  const owner = ownerId === null ? null : (ownerNames.get(ownerId) ?? null)
  // Who may read a log record is not part of it.
  const { ownerId: reader, ...data } = event.data as Record<string, unknown>
  const text = JSON.stringify({ id, event: name, at, owner, data })
  return { id, name, topic, number, ownerId, isPublic: audience === 'public', text }
}

export interface HistoryLimits {
  readonly events: number
  /** Characters of all texts. */
  readonly bytes: number
  readonly ageMs: number
}

/** The last events of one topic, for readers who were away. */
export class EventHistory {
  readonly #limits: HistoryLimits
  readonly #kept: { readonly atMs: number; readonly event: LiveEvent }[] = []
  #bytes = 0
  /** The last event that is not kept; undefined while nobody follows, so that it is not known. */
  #forgotten: number | undefined

  /** `followed`: every event since the start of the process will be added. */
  constructor(limits: HistoryLimits, followed: boolean) {
    this.#limits = limits
    this.#forgotten = followed ? 0 : undefined
  }

  add(event: LiveEvent): void {
    this.#forgotten ??= event.number - 1
    this.#kept.push({ atMs: performance.now(), event })
    this.#bytes += event.text.length
    this.#forget()
  }

  /** Events will be missed from now on. */
  interrupt(): void {
    this.#kept.length = 0
    this.#bytes = 0
    this.#forgotten = undefined
  }

  /** What came after the event of this number; not `complete` when some of that is not kept. */
  after(number: number): { readonly events: readonly LiveEvent[]; readonly complete: boolean } {
    this.#forget()
    const events = this.#kept.map(each => each.event).filter(event => event.number > number)
    return { events, complete: this.#forgotten !== undefined && number >= this.#forgotten }
  }

  #forget(): void {
    const tooOld = performance.now() - this.#limits.ageMs
    let count = 0
    for (const { atMs, event } of this.#kept) {
      const tooMany = this.#kept.length - count > this.#limits.events || this.#bytes > this.#limits.bytes
      if (!tooMany && atMs >= tooOld) break
      this.#bytes -= event.text.length
      this.#forgotten = event.number
      count += 1
    }
    if (count > 0) this.#kept.splice(0, count)
  }
}
