import type { LongMessage } from '../../../transport-kit/definition.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'

/** JSON-RPC 2.0, Invalid Request. */
const REQUEST_INVALID = -32600

/** Callbacks of `handleLongMessage`. */
export interface LongMessageParts {
  readonly maxBytes: number
  /** Ids of pending requests, except those without a deadline. */
  awaited(): readonly number[]
  /** True when the response with this id cannot belong to the stream on which it arrived. */
  isElsewhere(id: number): boolean
  fail(id: number, reason: WireError): void
  /** Sends a JSON-RPC error to a request of the server. */
  send(text: string): void
  dropped(detail: string): void
}

/**
 * Handles a message that was too long and was dropped: a response fails its request, a request is rejected. If its id
 * is unknown, it fails the request whose stream carried it, or the only pending one. Other requests are left alone:
 * their responses may still arrive, or they time out.
 */
export function handleLongMessage(message: LongMessage, related: number | undefined, parts: LongMessageParts): void {
  const { maxBytes } = parts
  const what = `a message of more than ${maxBytes} bytes`
  for (const id of message.requests) {
    const error = { code: REQUEST_INVALID, message: `The request is longer than ${maxBytes} bytes` }
    parts.send(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`)
  }
  const own = message.answers.filter(id => !parts.isElsewhere(id))
  if (own.length === 0 && (message.hasMethod || message.answers.length > 0)) return parts.dropped(what)
  const waiting = parts.awaited()
  const only = related ?? (waiting.length === 1 ? waiting[0] : undefined)
  if (own.length === 0 && only === undefined) return parts.dropped(`${what} that names no request`)
  const reason = `The server's answer is longer than ${maxBytes} bytes, the most that it may have`
  for (const id of own.length > 0 || only === undefined ? own : [only])
    parts.fail(id, { code: 'result_too_large', message: reason, data: { maxBytes } })
}
