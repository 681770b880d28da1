import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord } from '../contract/records.ts'
import type { Era } from './era.ts'

/** What a caller meets of a server; `older`: of one that is spoken to in the newer era, its own face of the older one. */
export type Face = Era | 'older'

/** The connection by which clients of the older era share a server's older face. */
export const OLDER_CONNECTION = 'older'

export function eraOfFace(face: Face): Era {
  return face === 'modern' ? 'modern' : 'legacy'
}

/** What is asked of a server's caller to know which connection serves it. */
export interface ConnectionCaller {
  readonly id: string
  readonly userId: string
  readonly capabilities: JsonObject
}

/** Whether a client declared anything that a server may ask it. */
export function canBeAsked({ sampling, elicitation, roots }: JsonObject): boolean {
  return sampling !== undefined || elicitation !== undefined || roots !== undefined
}

/**
 * Whether a client session must not share a server's connection with others: as configured, and by default for remote servers
 * as soon as the client can be asked something (sampling, elicitation, roots), since only a connection of its own tells whom
 * the server asks. A server of the modern era asks in its answers, so that there no doubt can arise.
 */
export function needsOwnConnection(
  { session, transport }: Pick<ServerRecord, 'session' | 'transport'>,
  capabilities: JsonObject,
  era: Era,
): boolean {
  if (session !== undefined) return session !== 'shared'
  return era === 'legacy' && canBeAsked(capabilities) && (transport === 'streamable-http' || transport === 'sse')
}

/** The key of the connection that all of one user's calls share where a server's `session` is `per-user`. */
export function userConnection(userId: string, face?: Face): string {
  return `${face === 'older' ? 'older-' : ''}user-${userId}`
}

/** The key of the connection that serves a caller; undefined: the one that all share. */
export function connectionKey(
  server: Pick<ServerRecord, 'session' | 'transport'>,
  caller: ConnectionCaller | undefined,
  face: Face,
): string | undefined {
  const own = caller !== undefined && needsOwnConnection(server, caller.capabilities, eraOfFace(face))
  if (!own) return face === 'older' ? OLDER_CONNECTION : undefined
  return server.session === 'per-user' ? userConnection(caller.userId, face) : caller.id
}
