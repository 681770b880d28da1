import type { ErrorCode } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ConnectionState, LogRecord, ToolCallRecord } from '../contract/records.ts'

/**
 * Every event name with its payload. An event has an `ownerId` beside the payload: only that owner and administrators
 * may see it, or every signed-in user when `audience` is `public`; `internal` events never leave the hub.
 */
export interface EventCatalog {
  'server.created': { serverId: string; name: string }
  'server.updated': { serverId: string; name: string; revision: number; changed: readonly string[] }
  'server.removed': { serverId: string; name: string }
  'group.created': { groupId: string; name: string }
  'group.updated': { groupId: string; name: string; revision: number }
  'group.removed': { groupId: string; name: string }
  'user.created': { userId: string; name: string }
  /** Role, disabled or epoch changed: cached credentials of this user are invalid. */
  'user.updated': { userId: string; name: string }
  'user.removed': { userId: string; name: string }
  'key.created': { keyId: string }
  'key.removed': { keyId: string }
  /** One sign-in was signed out, with all its session tokens. */
  'token.revoked': { familyId: string; userId: string }
  'settings.updated': { scope: 'system' | 'user'; userId?: string; keys: readonly string[] }
  'config.changed': { source: 'file'; applied: readonly string[] }
  'config.rejected': { source: 'file'; message: string; line?: number; column?: number }
  'connection.state': {
    serverId: string
    name: string
    state: ConnectionState
    reason?: { code: ErrorCode; message: string }
    attempts: number
  }
  /** The health checks of a server began to fail (or its connection was lost), or succeed again. */
  'server.health': {
    serverId: string
    name: string
    state: 'healthy' | 'failing'
    error?: { code: ErrorCode; message: string }
  }
  /** `older`: only the lists for legacy clients changed, of a server that supports both eras. */
  'catalog.changed': {
    serverId: string
    name: string
    kinds: readonly ('tools' | 'prompts' | 'resources')[]
    older?: true
  }
  /** A tool's definition changed; `blocked`: it cannot be called until its owner approves it. */
  'tool.definition_changed': { serverId: string; name: string; tool: string; hash: string; blocked: boolean }
  'tool.called': ToolCallRecord
  'log.record': LogRecord
  'plugin.failed': { plugin: string; message: string }
  'plugin.changed': { plugin: string; state: string }
  'session.opened': { sessionId: string; userId: string; scope: string }
  'session.ended': { sessionId: string; userId: string; reason: string }
  /** A notification from an upstream that belongs to no call. Internal. */
  'upstream.notification': { serverId: string; sessionId?: string; method: string; params: JsonObject | undefined }
  /** A connection (shared, or of one session) was established, for the first time or again. Internal. */
  'upstream.connected': { serverId: string; sessionId?: string; again: boolean }
}

export type EventName = keyof EventCatalog

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
