import type { UserActor } from '../../contract/records.ts'
import type { EventName, HubEvent } from '../../events/catalog.ts'

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
