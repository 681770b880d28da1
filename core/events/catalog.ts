import type { PluginEvents } from '../contract/events.ts'
import type { JsonObject } from '../contract/json.ts'

/**
 * Every event name with its payload: those of plugins, and those that never leave core. An event carries `ownerId` beside the
 * payload: only that owner and administrators may see it, or everybody who is signed in when `audience` is `public`;
 * `internal` events never leave the hub.
 */
export interface EventCatalog extends PluginEvents {
  /** One sign-in was signed out, with all its session tokens. Internal. */
  'token.revoked': { familyId: string; userId: string }
  /** A notification from an upstream that belongs to no call. Internal. */
  'upstream.notification': { serverId: string; sessionId?: string; method: string; params: JsonObject | undefined }
  /** A connection (shared, or of one session) came up, first time or again. Internal. */
  'upstream.connected': { serverId: string; sessionId?: string; again: boolean }
}

export type EventName = keyof EventCatalog

export interface HubEvent<N extends EventName = EventName> {
  /** Rises by one per event of this process. */
  readonly id: number
  readonly name: N
  /** ISO 8601 UTC. */
  readonly at: string
  /** Whose matter it is; null for the hub's own (administrators see it). */
  readonly ownerId: string | null
  readonly audience: 'owner' | 'public' | 'internal'
  readonly data: EventCatalog[N]
}
