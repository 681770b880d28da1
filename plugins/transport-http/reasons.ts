import type { WireError } from 'patchbay/transport-kit'

/** The `connection_lost` error for a stream that ended before its response. */
export function streamLost(): WireError {
  return { code: 'connection_lost', message: 'The stream of this call ended before its answer came' }
}

/**
 * The `upstream_protocol` error for a response of another kind than expected. `data.notAnswer` describes it in short;
 * `session`: its text mentions the MCP session.
 */
export function notAnAnswer(status: number, what: string, session = false): WireError {
  const data = { status, notAnswer: what, ...(session ? { session } : {}) }
  return { code: 'upstream_protocol', message: `The server answered the request with ${what}`, data }
}

/** The `upstream_protocol` error for a response whose content type is neither JSON nor a stream of events. */
export function wrongType(status: number, type: string, session = false): WireError {
  const what = `HTTP ${status} and ${namedType(type)}`
  const hint = type.startsWith('text/html') ? '; is this the address of its MCP endpoint?' : ''
  const { message, ...reason } = notAnAnswer(status, what, session)
  return { ...reason, message: `${message}, not "application/json" or "text/event-stream"${hint}` }
}

/** A content type for a message. */
export function namedType(type: string): string {
  return type === '' ? 'no content type' : `the content type "${type.slice(0, 80)}"`
}
