import type { WireError } from 'patchbay/contract'

/** The `connection_lost` error for a stream that ended before its response. */
export function streamLost(): WireError {
  return { code: 'connection_lost', message: 'The stream of this call ended before its answer came' }
}

/** The `upstream_protocol` error for a response of another kind than expected. */
export function notAnAnswer(what: string): WireError {
  return { code: 'upstream_protocol', message: `The server answered the request with ${what}` }
}

/** The `upstream_protocol` error for a response whose content type is neither JSON nor a stream of events. */
export function wrongType(status: number, type: string): WireError {
  const named = type === '' ? 'no content type' : `the content type "${type.slice(0, 80)}"`
  const hint = type.startsWith('text/html') ? '; is this the address of its MCP endpoint?' : ''
  return notAnAnswer(`HTTP ${status} and ${named}, not "application/json" or "text/event-stream"${hint}`)
}
