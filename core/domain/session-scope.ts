import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord } from '../contract/records.ts'
import type { Era } from './era.ts'

/**
 * Whether a client session must not share a server's connection: as configured, and by default for remote servers as soon
 * as the client can be asked something (sampling, elicitation, roots), since only a connection of its own tells whom the
 * server asks. A server of the modern era asks in its answers, so that there no doubt can arise.
 */
export function needsOwnConnection(
  { session, transport }: Pick<ServerRecord, 'session' | 'transport'>,
  { sampling, elicitation, roots }: JsonObject,
  era: Era,
): boolean {
  if (session !== undefined) return session !== 'shared'
  const canBeAsked = sampling !== undefined || elicitation !== undefined || roots !== undefined
  return era === 'legacy' && canBeAsked && (transport === 'streamable-http' || transport === 'sse')
}
