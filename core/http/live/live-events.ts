import type { PluginEventName } from '../../contract/events.ts'
import type { UserActor } from '../../contract/records.ts'
import { includesRole } from '../../domain/ownership.ts'
import type { EventName, HubEvent } from '../../events/catalog.ts'
import type { ShareRegistry } from '../../registry/shares-api.ts'
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
  /** The server or group of the event, for the users it is shared with. */
  readonly thingId?: string
  /** True for a server that went offline. */
  readonly isEnd?: true
  /** JSON of `{id, event, at, owner, data}`. */
  readonly text: string
  /** The same without the reason of a failure, for the role `use`; undefined for an event that this role does not get. */
  readonly textForUse?: string
}

/** Looks up the share of a user, and says whose things are shared with nobody. */
export interface RolesUnderMcp extends Pick<ShareRegistry, 'roleUnderMcp'> {
  /** True for the id of a disabled user. */
  isDisabled(userId: string): boolean
}

/** Events about servers and groups that users with the role `use` get, without the reason of a failure. */
const FOR_USE: ReadonlySet<string> = new Set([
  ...['server.updated', 'server.removed', 'group.updated', 'group.removed', 'connection.state', 'catalog.changed'],
])

/**
 * The owner's events, public ones, those about shared servers and groups, and all for administrators. Internal ones never get here.
 * Alerts of an administrator may be about everybody's servers: outside ADMIN_ADDRESSES only those about own ones are seen.
 */
export function visibleTo(event: LiveEvent, actor: UserActor, roles?: RolesUnderMcp): boolean {
  return textFor(event, actor, roles) !== undefined
}

/** The text of an event that this reader gets, in its role; undefined if it gets none. */
export function textFor(event: LiveEvent, actor: UserActor, roles?: RolesUnderMcp): string | undefined {
  const { ownerId, subject, thingId, text } = event
  if (actor.role === 'admin') return text
  const ownerDisabled = ownerId !== null && ownerId !== actor.userId && roles?.isDisabled(ownerId) === true
  // Nothing of a disabled owner is shared: the end of a server is the last that others hear of it.
  if (ownerDisabled && !event.isEnd) return undefined
  if (event.isPublic) return text
  if (ownerId === null) return undefined
  if (ownerId === actor.userId)
    return subject === undefined || actor.restricted !== true || subject.startsWith(`${actor.name}~`) ? text : undefined
  const thing = thingId === undefined ? undefined : ({ id: thingId, ownerId, visibility: 'private' } as const)
  const role = thing && roles?.roleUnderMcp(actor.userId, thing)
  return includesRole(role, 'see') && !ownerDisabled ? text : role && event.textForUse
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
  const shared = topic === 'servers' ? sharedParts(name, data as Record<string, unknown>, { id, at, owner }) : {}
  return { id, name, topic, number, ownerId, isPublic: audience === 'public', ...about, ...shared, text }
}

/** The parts for users that the server or group is shared with. */
function sharedParts(
  name: string,
  { reason, ...rest }: Readonly<Record<string, unknown>>,
  { id, at, owner }: { readonly id: string; readonly at: string; readonly owner: string | null },
): Pick<LiveEvent, 'thingId' | 'isEnd' | 'textForUse'> {
  const thingId = rest.serverId ?? rest.groupId
  if (typeof thingId !== 'string') return {}
  if (!FOR_USE.has(name)) return { thingId }
  const end = name === 'connection.state' && rest.state === 'offline' ? ({ isEnd: true } as const) : {}
  return { thingId, ...end, textForUse: JSON.stringify({ id, event: name, at, owner, data: rest }) }
}

/** `ownerId` determines who may read a log record, and is not sent. */
function sentData({ ownerId: _, ...data }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return data
}
