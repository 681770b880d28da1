import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, ServerRequestKind, ServerSettings, SessionScope } from '../contract/records.ts'
import type { Era } from './era.ts'

/**
 * Protocol era of a server that a caller uses; `older`: the legacy era of a server with which the hub itself uses the modern
 * era.
 */
export type Side = Era | 'older'

/** Key of the connection on which legacy clients share a server's legacy side. */
export const OLDER_CONNECTION = 'older'

/** True for a server to which each caller brings a credential of its own. */
export function asksCallers({ config }: Pick<ServerSettings, 'config'>): boolean {
  return config.credentials === 'caller'
}

/** The configured sharing of a server's connections: never between users who bring their own credentials. */
export function scopeOf(server: Pick<ServerSettings, 'session' | 'config'>): SessionScope {
  return asksCallers(server) ? 'per-user' : (server.session ?? 'auto')
}

/** The caller's data that determine its connection. */
export interface ConnectionCaller {
  readonly id: string
  readonly userId: string
  readonly capabilities: JsonObject
}

/**
 * Callers with a connection of their own, by which the hub finds out whether a program sends requests. Callers are identified by
 * their id.
 */
export interface AskTrials {
  /** True when this caller uses its own connection. */
  has(caller: string): boolean
  /** Decides once whether a caller that supports server requests takes part; called before each of its tool calls. */
  place(caller: ConnectionCaller, tool: string): void
  /**
   * Returns what the first call of a caller waits for, while another caller of the same user tries the same tool. Undefined:
   * nothing. Never rejects, and may not resolve.
   */
  settling(caller: ConnectionCaller, tool: string): Promise<void> | undefined
  /** This caller uses its own connection, as another one of the same user does. */
  admit(caller: string): void
}

/** The server's data that determine a caller's connection. */
export interface ServerFace {
  readonly side: Side
  /** Era of this side's protocol. */
  readonly era: Era
  /** Requests that the server sends to clients; empty when unknown. */
  readonly serverRequests: readonly ServerRequestKind[]
  /** Target of the transport; `undefined` while its plugin does not run. See `Transport`. */
  readonly kind?: 'process' | 'remote' | 'answers' | undefined
  /** True when it serves one connection at a time, which all share. */
  readonly single?: boolean
  /** True where a second connection may end the server: it opens once the server was seen to ask. */
  readonly fragile?: boolean
  /** For a program, or a fragile server: the callers by which the hub finds out whether it sends requests. */
  readonly trials?: AskTrials
}

/** True when a client declared a capability for server requests. */
export function canBeAsked({ sampling, elicitation, roots }: JsonObject): boolean {
  return sampling !== undefined || elicitation !== undefined || roots !== undefined
}

/**
 * True when a client session needs a dedicated connection, since only that shows which client a server's request is for. As
 * configured; with `auto`, when the client supports a request that the server is known to send, or any request of a remote
 * server that is not fragile, or when it takes part in finding out whether the server sends any. A modern server puts its
 * requests into its results, which are never ambiguous.
 */
export function needsOwnConnection(
  server: Pick<ServerRecord, 'session' | 'config'>,
  { id, capabilities }: Pick<ConnectionCaller, 'id' | 'capabilities'>,
  face: Pick<ServerFace, 'era' | 'serverRequests' | 'kind' | 'single' | 'fragile' | 'trials'>,
): boolean {
  const session = scopeOf(server)
  if (session !== 'auto') return session !== 'shared'
  // Members of `face` are computed when read; most clients support no server requests.
  if (!canBeAsked(capabilities) || face.era !== 'legacy' || face.single) return false
  // A connection to a remote server costs no process, so it is opened before the server's first request to a client.
  const isKnownToAsk = face.serverRequests.some(capability => capabilities[capability] !== undefined)
  if (isKnownToAsk || (face.kind === 'remote' && !face.fragile)) return true
  return face.trials?.has(id) === true
}

/** Key of the connection that all of one user's calls share when a server's `session` is `per-user`. */
export function userConnection(userId: string, side?: Side): string {
  return `${side === 'older' ? 'older-' : ''}user-${userId}`
}

/** Key of the connection that serves a caller; undefined: the shared one. */
export function connectionKey(
  server: Pick<ServerRecord, 'session' | 'config'>,
  caller: ConnectionCaller | undefined,
  face: ServerFace,
): string | undefined {
  const own = caller !== undefined && needsOwnConnection(server, caller, face)
  if (!own) return face.side === 'older' ? OLDER_CONNECTION : undefined
  return scopeOf(server) === 'per-user' ? userConnection(caller.userId, face.side) : caller.id
}
