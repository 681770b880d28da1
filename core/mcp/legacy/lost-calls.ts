import { HubError } from '../../contract/errors.ts'
import { errorMessage, type IdText, rpcError } from '../rpc/rpc.ts'
import type { Session } from './session.ts'
import { boundTo, type TokenSealer } from './session-id.ts'
import type { SessionStream } from './session-streams.ts'

/** The sealed text is part of headers and addresses; proxies may reject one above 4 KiB. */
const MAX_BYTES = 2_048
const PURPOSE = 'mcp-calls'
/** Cannot occur in the JSON text of an id. */
const SEPARATOR = '\n'

/**
 * Seals the request ids of calls in flight, so that the next process can report to this principal's client which of its
 * calls were lost with this one. `place`: the session or stream that the ids belong to. Ids beyond 2 KiB are left out.
 */
export function sealCalls(sealer: TokenSealer, principal: string, place: string, list: string): string {
  const bytes = Buffer.from(list)
  const end = bytes.length <= MAX_BYTES ? bytes.length : Math.max(0, bytes.lastIndexOf(SEPARATOR, MAX_BYTES))
  return sealer.sealTokenBytes(PURPOSE, Buffer.concat([boundTo(principal, place), bytes.subarray(0, end)]))
}

/** Empty for a text that was not sealed for this principal and place. */
export function openCalls(sealer: TokenSealer, principal: string, place: string, sealed: string): readonly IdText[] {
  const opened = sealer.openTokenBytes(PURPOSE, sealed)
  const holder = boundTo(principal, place)
  const bytes = Buffer.from(opened ?? [])
  const list = bytes.subarray(holder.length).toString()
  return list === '' || !bytes.subarray(0, holder.length).equals(holder) ? [] : list.split(SEPARATOR)
}

/** The ids of the calls of a stream, as one text. */
export function callList(session: Session, stream: SessionStream): string {
  return session.callsOn(stream).join(SEPARATOR)
}

/** The error responses for lost calls. */
export function lostAnswers(ids: readonly IdText[], requestId: string): readonly string[] {
  const error = new HubError('connection_lost', 'The connection to the hub was lost before the server had answered', {
    hint: 'What was under way may have happened, so look before you repeat it.',
  })
  return ids.map(id => errorMessage(id, rpcError(error, requestId)))
}

/**
 * True when a client reconnects its stream by itself, and ignores events of unknown types and repeated ones: clients that use
 * EventSource or fetch of browsers, Node, Bun and Deno. Others do not reconnect, and some of them, such as the SDKs for Python
 * and Java, log a warning for each such event or close the stream.
 */
export function reconnectsByItself(headers: Headers): boolean {
  return headers.has('sec-fetch-mode') || /^(node|undici|bun|deno|mozilla)\b/i.test(headers.get('user-agent') ?? '')
}
