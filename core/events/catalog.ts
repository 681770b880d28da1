import type { ErrorCode } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ConnectionState, LogRecord, ToolCallRecord } from '../contract/records.ts'

/**
 * Every event name with its payload. An event carries `ownerId` beside the payload: only that owner and administrators
 * may see it, or everybody who is signed in when `audience` is `public`; `internal` events never leave the hub.
 */
export interface EventCatalog {
  'server.created': { serverId: string; name: string }
  'server.updated': { serverId: string; name: string; revision: number; changed: readonly string[] }
  'server.removed': { serverId: string; name: string }
  'group.created': { groupId: string; name: string }
  'group.updated': { groupId: string; name: string; revision: number }
  'group.removed': { groupId: string; name: string }
  'user.created': { userId: string; name: string }
  /** Role, disabled or epoch changed: cached credentials of this user are void. */
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
  /** The regular checks of a server began to fail (or it is lost otherwise), or succeed again. */
  'server.health': {
    serverId: string
    name: string
    state: 'healthy' | 'failing'
    error?: { code: ErrorCode; message: string }
  }
  /** `older`: these lists are what clients of the older era see of a server that speaks both. */
  'catalog.changed': {
    serverId: string
    name: string
    kinds: readonly ('tools' | 'prompts' | 'resources')[]
    older?: true
  }
  /** A tool says something else of itself than before; `blocked`: it cannot be called until its owner approves it. */
  'tool.definition_changed': { serverId: string; name: string; tool: string; hash: string; blocked: boolean }
  'tool.called': ToolCallRecord
  'log.record': LogRecord
  'plugin.failed': { plugin: string; message: string }
  'plugin.changed': { plugin: string; state: string }
  'session.opened': { sessionId: string; userId: string; scope: string }
  'session.ended': { sessionId: string; userId: string; reason: string }
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
