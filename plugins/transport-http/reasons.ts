import { type GuardedResponse, HubError, toWireError, type WireError } from 'patchbay/contract'

/** A refusal by HTTP status, without anything of the body. `rpcCode` is the code of a JSON-RPC error in it. */
export function statusReason(response: GuardedResponse, rpcCode?: number): WireError {
  const { status } = response
  const retryAfter = response.headers['retry-after']
  const waitSeconds = retryAfter !== undefined && /^\d{1,5}$/.test(retryAfter) ? Number(retryAfter) : undefined
  const data = {
    status,
    ...(rpcCode === undefined ? {} : { rpcCode }),
    ...(waitSeconds === undefined ? {} : { retryAfterSeconds: waitSeconds }),
  }
  if (status === 401 || status === 403) {
    const message = `The server refused the credential with HTTP ${status}; check the headers of the server`
    return { code: 'authorization_required', message, data }
  }
  if (status >= 300 && status < 400) {
    const message = `The server redirects with HTTP ${status}, which is not followed; set its final address as url`
    return { code: 'redirect_blocked', message, data }
  }
  const wait = waitSeconds === undefined ? '' : ` and asks to wait ${waitSeconds} s`
  return { code: 'upstream_http_error', message: `The server answered with HTTP ${status}${wait}`, data }
}

export function sessionLost(): WireError {
  return { code: 'connection_lost', message: 'The server has ended the session (HTTP 404)', data: { status: 404 } }
}

export function streamLost(): WireError {
  return { code: 'connection_lost', message: 'The stream of this call ended before its answer came' }
}

export function notAnAnswer(what: string): WireError {
  return { code: 'upstream_protocol', message: `The server answered the request with ${what}` }
}

/** Nothing of the request was written, as the guarded fetch says. */
export function wasNotSent(error: unknown): boolean {
  return error instanceof HubError && error.data?.sent === false
}

export function reasonOf(error: unknown): WireError {
  if (error instanceof RangeError) return notAnAnswer(`a stream that cannot be read: ${error.message}`)
  return toWireError(error)
}
