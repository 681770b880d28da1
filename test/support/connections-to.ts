import { readFileSync } from 'node:fs'

/** Linux's states in which an end still holds its connection: established, and closed only by the other end. */
const HELD = new Set(['01', '08'])

/**
 * Number of connections that processes of this machine hold to one of its ports. A connection that its server has closed counts
 * until its client has noticed: data that a client writes before that is lost, and the client cannot know whether the server
 * read it.
 */
export function connectionsTo(port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1)
  const fields = lines.map(line => line.trim().split(/\s+/))
  return fields.filter(([, , to, state]) => to?.endsWith(wanted) && HELD.has(state ?? '')).length
}
