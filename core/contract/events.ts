import type { ErrorCode } from './errors.ts'
import type { ConnectionState, LogRecord, ToolCallRecord } from './records.ts'

/**
 * Every event that a plugin can listen to, with its payload. An event carries `ownerId` beside the payload; people who are no
 * administrators see their own alone, and those that are public.
 */
export interface PluginEvents {
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
}

export type PluginEventName = keyof PluginEvents

/** One event as a plugin gets it. Names and payloads are those of the catalogue. */
export type PluginEvent<N extends PluginEventName = PluginEventName> = {
  [Name in N]: {
    readonly name: Name
    /** ISO 8601 UTC. */
    readonly at: string
    /** Whose matter it is; null for the hub's own. */
    readonly ownerId: string | null
    readonly data: PluginEvents[Name]
  }
}[N]

export interface EventView {
  /** Listens to one event name until the plugin stops. */
  on<N extends PluginEventName>(name: N, handler: (event: PluginEvent<N>) => void): void
  /** Listens to all events; `event.name` tells the type of `event.data`. */
  on(name: '*', handler: (event: PluginEvent) => void): void
}
