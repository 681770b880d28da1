import { HubError } from '../contract/errors.ts'
import { withHeaders } from '../request/headers.ts'

/** True for a request whose answer stays open: an event stream or a WebSocket. */
export function wantsStream({ method, headers, url }: Request): boolean {
  if (method !== 'GET') return false
  if (headers.has('upgrade') || headers.get('accept')?.includes('text/event-stream')) return true
  return /\/(?:api\/stream|sse)(?:[/?]|$)/.test(url)
}

/** The refusal of what would stay open while descriptors are short. */
export function crowded(): HubError {
  const why =
    'The hub has few file descriptors left, and begins no further streams or long requests of this client until others end'
  return new HubError('overloaded', why, { retryAfterSeconds: 5 })
}

/** The same answer, after which the connection is closed. */
export function lastOf(response: Response): Response
export function lastOf(response: Response | undefined): Response | undefined
export function lastOf(response: Response | undefined): Response | undefined {
  return response && withHeaders(response, { connection: 'close' })
}
