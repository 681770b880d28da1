import type { WireError } from 'patchbay/contract'

/** The `connection_lost` error for a stream that ended before its response. */
export function streamLost(): WireError {
  return { code: 'connection_lost', message: 'The stream of this call ended before its answer came' }
}

/** The `upstream_protocol` error for a response of another kind than expected. */
export function notAnAnswer(what: string): WireError {
  return { code: 'upstream_protocol', message: `The server answered the request with ${what}` }
}
