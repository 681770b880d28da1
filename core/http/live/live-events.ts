import type { PluginEventName } from '../../contract/events.ts'
import type { UserActor } from '../../contract/records.ts'
import type { EventName, HubEvent } from '../../events/catalog.ts'
import type { EventIds } from './event-ids.ts'

/** The topics that a reader may subscribe to. */
export const TOPICS = ['servers', 'logs', 'alerts', 'metrics', 'calls', 'shares', 'plugins'] as const
/** One of {@link TOPICS}. */
export type Topic = (typeof TOPICS)[number]

/** The events of each topic. */
export const LIVE_EVENTS: Readonly<Record<Topic, readonly PluginEventName[]>> = {
  servers: [
    ...(['server.created', 'server.updated', 'server.removed', 'server.health', 'connection.state'] as const),
    ...(['group.created', 'group.updated', 'group.removed', 'catalog.changed', 'tool.definition_changed'] as const),
    ...(['config.changed', 'config.rejected', 'plugin.failed', 'plugin.changed', 'sink.state'] as const),
    'assistant.state',
  ],
  logs: ['log.record'],
  alerts: ['alert.pending', 'alert.fired', 'alert.resolved'],
  metrics: ['metrics.tick'],
  calls: ['tool.called'],
  shares: ['share.changed'],
  // Plugins define the names of these events.
  plugins: [],
}

/** Frequent events: emitted, and even built, only while a reader has subscribed; those of the others are kept for a while. */
export const WHILE_WANTED: ReadonlySet<Topic> = new Set(['logs', 'metrics', 'calls'])

/** An event for the stream, its text built once for all readers. */
export interface LiveEvent {
  /** Opaque; see {@link EventIds}. */
  readonly id: string
  readonly name: EventName
  readonly topic: Topic
  /** Increases within one process. */
  readonly number: number
  readonly ownerId: string | null
  readonly isPublic: boolean
  /** Subject of an alert, mostly `owner~server`; undefined for other events. */
  readonly subject?: string
  /** JSON of `{id, event, at, owner, data}`. */
  readonly text: string
}

/**
 * The owner's events, public ones, and all for administrators. Internal ones never get here. Alerts of an administrator may be
 * about everybody's servers: outside ADMIN_ADDRESSES only those about own ones are seen.
 */
export function visibleTo({ isPublic, ownerId, subject }: LiveEvent, actor: UserActor): boolean {
  if (isPublic || actor.role === 'admin') return true
  if (ownerId === null || ownerId !== actor.userId) return false
  return subject === undefined || actor.restricted !== true || subject.startsWith(`${actor.name}~`)
}

/** Builds an event with its JSON text. `ids`: those of the process; `ownerNames`: user names by id. */
export function liveEvent(
  ids: EventIds,
  topic: Topic,
  event: HubEvent,
  ownerNames: ReadonlyMap<string, string>,
): LiveEvent {
  const { id: number, name, at, ownerId, audience } = event
  const id = ids.idOf(number)
  const owner = ownerId === null ? null : (ownerNames.get(ownerId) ?? null)
  const data = topic === 'plugins' ? event.data : sentData(event.data as Record<string, unknown>)
  const text = JSON.stringify({ id, event: name, at, owner, data })
  const subject = topic === 'alerts' ? (event.data as { readonly subject?: unknown }).subject : undefined
  const about = typeof subject === 'string' ? { subject } : {}
  return { id, name, topic, number, ownerId, isPublic: audience === 'public', ...about, text }
}

/** `ownerId` determines who may read a log record, and is not sent. */
function sentData({ ownerId: _, ...data }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return data
}
