import type { WireError } from 'patchbay/contract'

export function streamLost(): WireError {
  return { code: 'connection_lost', message: 'The stream of this call ended before its answer came' }
}

export function notAnAnswer(what: string): WireError {
  return { code: 'upstream_protocol', message: `The server answered the request with ${what}` }
}
