import { readFileSync } from 'node:fs'

/** What Linux calls the states in which an end still holds its connection: established, and closed by the other end only. */
const HELD = new Set(['01', '08'])

/**
 * How many connections processes of this machine hold to a port of it. One that its server has closed counts until its
 * client has noticed: what a client writes before that is lost, and it cannot tell whether the server read it.
 */
export function connectionsTo(port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/tcp', 'latin1').trim().split('\n').slice(1)
  const fields = lines.map(line => line.trim().split(/\s+/))
  return fields.filter(([, , to, state]) => to?.endsWith(wanted) && HELD.has(state ?? '')).length
}
