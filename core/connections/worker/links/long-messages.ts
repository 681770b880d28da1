import type { WireError } from '../../../contract/errors.ts'
import type { LongMessage } from '../../../contract/transport.ts'

/** JSON-RPC 2.0, Invalid Request. */
const REQUEST_INVALID = -32600

export interface LongMessageParts {
  readonly maxBytes: number
  /** The requests whose answers are awaited, those that may wait for ever aside. */
  awaited(): readonly number[]
  /** An answer to this request came under an id that it cannot have come for. */
  isElsewhere(id: number): boolean
  fail(id: number, reason: WireError): void
  /** The text of an answer to a request of the server. */
  send(text: string): void
  dropped(detail: string): void
}

/**
 * What becomes of a message that was too long: the request that it answers fails, one that it makes is refused, and where
 * nothing tells whose it is, it fails the request whose stream carried it or the only one that waits. Other requests are left
 * alone: what they wait for may still come, or their time runs out.
 */
export function judgeLongMessage(message: LongMessage, related: number | undefined, parts: LongMessageParts): void {
  const { maxBytes } = parts
  const what = `a message of more than ${maxBytes} bytes`
  for (const id of message.asks) {
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
