import type { PluginEvents } from '../contract/events.ts'
import type { JsonObject } from '../contract/json.ts'

/**
 * Every event name with its payload: those for plugins, and those used only inside core. An event has an `ownerId` beside the
 * payload: only that owner and administrators may see it, or every signed-in user when `audience` is `public`; `internal` events
 * never leave the hub.
 */
export interface EventCatalog extends PluginEvents {
  /** One sign-in was signed out, with all its session tokens. Internal. */
  'token.revoked': { familyId: string; userId: string }
  /** A notification from an upstream that belongs to no call. Internal. */
  'upstream.notification': { serverId: string; sessionId?: string; method: string; params: JsonObject | undefined }
  /** A user has a credential for a server now (`held`), or has none that is valid. Internal. */
  'credential.changed': { serverId: string; userId: string; held: boolean }
  /** The lists that a server has for one user were read; `kinds`: those that differ. Internal. */
  'caller.lists': { serverId: string; userId: string; kinds: readonly ('tools' | 'prompts' | 'resources')[] }
  /** A check of a server's health ended. Internal. */
  'upstream.checked': { serverId: string; name: string; ok: boolean }
  /**
   * A connection (shared, or of one session) was established, for the first time or again. `start`, of the shared
   * one: the server's name, and the time from the attempt until its lists were read. Internal.
   */
  'upstream.connected': { serverId: string; sessionId?: string; again: boolean; start?: { name: string; ms: number } }
}

/** The names of all events. */
export type EventName = keyof EventCatalog

/** One emitted event. */
export interface HubEvent<N extends EventName = EventName> {
  /** Increases by one per event of this process. */
  readonly id: number
  readonly name: N
  /** ISO 8601 UTC. */
  readonly at: string
  /** The owner; null for the hub itself (visible to administrators). */
  readonly ownerId: string | null
  readonly audience: 'owner' | 'public' | 'internal'
  readonly data: EventCatalog[N]
}
