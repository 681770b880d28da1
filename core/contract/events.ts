import type { ErrorCode } from './errors.ts'
import type { ConnectionState } from './records.ts'

/**
 * Every event that a plugin can listen to, with its payload. An event carries `ownerId` beside the payload; users who
 * are not administrators get only their own events and public ones.
 */
export interface PluginEvents {
  'server.created': { serverId: string; name: string }
  'server.updated': { serverId: string; name: string; revision: number; changed: readonly string[] }
  'server.removed': { serverId: string; name: string; transferred?: true }
  'group.created': { groupId: string; name: string }
  'group.updated': { groupId: string; name: string; revision: number }
  'group.removed': { groupId: string; name: string; transferred?: true }
  'user.created': { userId: string; name: string; disabled?: true }
  /** Role, name, password or state of an account changed: cached credentials of this user are invalid. */
  'user.updated': { userId: string; name: string; disabled?: true }
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
    reason?: { code: ErrorCode; message: string; ofOwner?: true }
    attempts: number
  }
  /** The periodic checks of a server began to fail (or it was lost otherwise), or succeed again. */
  'server.health': {
    serverId: string
    name: string
    state: 'healthy' | 'failing'
    error?: { code: ErrorCode; message: string }
  }
  /** A server's lists changed. `older`: those of the legacy side of a server that speaks both eras. */
  'catalog.changed': {
    serverId: string
    name: string
    kinds: readonly ('tools' | 'prompts' | 'resources')[]
    older?: true
  }
  /** The definition of a tool has changed; `blocked`: it cannot be called until its owner approves it. */
  'tool.definition_changed': { serverId: string; name: string; tool: string; hash: string; blocked: boolean }
  /** Every 10 s: calls in that time by one user or to its servers, if there are or were any before; `ownerId` null: all. */
  'metrics.tick': { seconds: number; calls: number; errors: number; avgMs: number | null; maxMs: number | null }
  'sink.state': { sink: string; state: 'up' | 'failing' }
  'plugin.failed': { plugin: string; message: string }
  'plugin.changed': { plugin: string; state: string }
  'session.opened': { sessionId: string; userId: string; scope: string }
  'session.ended': { sessionId: string; userId: string; reason: string }
}

/** A key of `PluginEvents`. */
export type PluginEventName = keyof PluginEvents

/** One event as a plugin gets it. Names and payloads are those of `PluginEvents`. */
export type PluginEvent<N extends PluginEventName = PluginEventName> = {
  [Name in N]: {
    readonly name: Name
    /** ISO 8601 UTC. */
    readonly at: string
    /** Id of the user who owns the event; null for an event of the hub itself. */
    readonly ownerId: string | null
    readonly data: PluginEvents[Name]
  }
}[N]

/** The event bus as a plugin sees it. */
export interface EventView {
  /** Listens to one event name until the plugin stops. */
  on<N extends PluginEventName>(name: N, handler: (event: PluginEvent<N>) => void): void
  /** Listens to all events; `event.name` determines the type of `event.data`. */
  on(name: '*', handler: (event: PluginEvent) => void): void
  /** Emits an event of the definition, with a name and payload that were merged into `PluginEvents`. */
  emit<N extends PluginEventName>(name: N, ownerId: string | null, data: PluginEvents[N]): void
}
