import type { ErrorCode } from '../../contract/errors.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'

/** Statuses of a server, or of a proxy before it, that may take the connection later. */
const LATER: ReadonlySet<unknown> = new Set([408, 425, 429, 502, 503, 504])
const DEFINITE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_http_error',
  'upstream_protocol',
  'upstream_init_timeout',
  'connection_lost',
])

/**
 * True for a failed handshake that shows, while another connection to the same server works, that the server serves
 * one connection at a time.
 */
export function refusesSecond({ code, data = {} }: WireError): boolean {
  return DEFINITE.has(code) && !LATER.has(data.status) && data.sent !== false
}
