import type { JsonObject } from '../contract/json.ts'
import type { AskCapability, ServerRecord } from '../contract/records.ts'
import type { Era } from './era.ts'

/** Which side of a server a caller meets; `older`: of one that is spoken to in the newer era, that of the older one. */
export type Side = Era | 'older'

/** The connection by which clients of the older era share a server's older face. */
export const OLDER_CONNECTION = 'older'

/** What is asked of a server's caller to know which connection serves it. */
export interface ConnectionCaller {
  readonly id: string
  readonly userId: string
  readonly capabilities: JsonObject
}

/** What is known of a server when the connection of a caller is chosen. */
export interface ServerFace {
  readonly side: Side
  /** In which this side speaks. */
  readonly era: Era
  /** What it was seen to ask of clients; empty where nothing is known. */
  readonly asks: readonly AskCapability[]
}

/** Whether a client declared anything that a server may ask it. */
export function canBeAsked({ sampling, elicitation, roots }: JsonObject): boolean {
  return sampling !== undefined || elicitation !== undefined || roots !== undefined
}

/** Over HTTP a connection of its own costs no process, so that even the first question of a server reaches its client. */
export function isRemote(transport: ServerRecord['transport']): boolean {
  return transport === 'streamable-http' || transport === 'sse'
}

/**
 * Whether a client session must not share a server's connection with others, since only a connection of its own tells whom
 * the server asks. As configured; else (`auto`) where the client can be asked what the server was seen to ask, and of remote
 * servers as soon as it can be asked anything. A server of the modern era asks in its answers, so that there no doubt can arise.
 */
export function needsOwnConnection(
  { session = 'auto', transport }: Pick<ServerRecord, 'session' | 'transport'>,
  capabilities: JsonObject,
  face: Pick<ServerFace, 'era' | 'asks'>,
): boolean {
  if (session !== 'auto') return session !== 'shared'
  // What a face says is worked out when it is asked; most clients can be asked nothing.
  if (!canBeAsked(capabilities) || face.era !== 'legacy') return false
  return isRemote(transport) || face.asks.some(capability => capabilities[capability] !== undefined)
}

/** The key of the connection that all of one user's calls share where a server's `session` is `per-user`. */
export function userConnection(userId: string, side?: Side): string {
  return `${side === 'older' ? 'older-' : ''}user-${userId}`
}

/** The key of the connection that serves a caller; undefined: the one that all share. */
export function connectionKey(
  server: Pick<ServerRecord, 'session' | 'transport'>,
  caller: ConnectionCaller | undefined,
  face: ServerFace,
): string | undefined {
  const own = caller !== undefined && needsOwnConnection(server, caller.capabilities, face)
  if (!own) return face.side === 'older' ? OLDER_CONNECTION : undefined
  return server.session === 'per-user' ? userConnection(caller.userId, face.side) : caller.id
}
