import type { ServerRecord } from '../contract/records.ts'

/**
 * Whether a client session must not share a server's connection: as configured, and by default for remote servers as soon
 * as the client can be asked something (sampling, elicitation, roots), since only a connection of its own tells whom the
 * server asks.
 */
export function needsOwnConnection(
  { session, transport }: Pick<ServerRecord, 'session' | 'transport'>,
  canBeAsked: boolean,
): boolean {
  if (session !== undefined) return session !== 'shared'
  return canBeAsked && (transport === 'streamable-http' || transport === 'sse')
}
