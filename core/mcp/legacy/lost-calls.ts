import { HubError } from '../../contract/errors.ts'
import { errorMessage, type IdText, rpcError } from '../rpc/rpc.ts'
import type { Session } from './session.ts'
import { boundTo, type TokenSealer } from './session-id.ts'
import type { SessionStream } from './session-streams.ts'

/** It is part of headers and addresses: proxies may refuse one above 4 KiB. */
const MAX_BYTES = 2_048
const PURPOSE = 'mcp-calls'
/** No JSON text of an id has one. */
const SEPARATOR = '\n'

/**
 * The request ids of calls in flight, sealed, so that a process to come can tell this principal's client which of its calls
 * were lost with this process. `place`: what the ids belong to. Those beyond 2 KiB are left out.
 */
export function sealCalls(sealer: TokenSealer, principal: string, place: string, list: string): string {
  const bytes = Buffer.from(list)
  const end = bytes.length <= MAX_BYTES ? bytes.length : Math.max(0, bytes.lastIndexOf(SEPARATOR, MAX_BYTES))
  return sealer.sealTokenBytes(PURPOSE, Buffer.concat([boundTo(principal, place), bytes.subarray(0, end)]))
}

/** None of a text that was not sealed for this principal and place. */
export function openCalls(sealer: TokenSealer, principal: string, place: string, sealed: string): readonly IdText[] {
  const opened = sealer.openTokenBytes(PURPOSE, sealed)
  const holder = boundTo(principal, place)
  const bytes = Buffer.from(opened ?? [])
  const list = bytes.subarray(holder.length).toString()
  return list === '' || !bytes.subarray(0, holder.length).equals(holder) ? [] : list.split(SEPARATOR)
}

/** One text for the ids of these calls. */
export function callList(session: Session, stream: SessionStream): string {
  return session.callsOn(stream).join(SEPARATOR)
}

/** What the client is told of such calls. */
export function lostAnswers(ids: readonly IdText[], requestId: string): readonly string[] {
  const error = new HubError('connection_lost', 'The connection to the hub was lost before the server had answered', {
    hint: 'What was under way may have happened, so look before you repeat it.',
  })
  return ids.map(id => errorMessage(id, rpcError(error, requestId)))
}

/**
 * Whether a client takes its stream up again by itself, and takes events of unknown types and repeated ones without a word:
 * those that use the EventSource or fetch of browsers, Node, Bun and Deno. Others do not come back, and some of them, such as
 * the SDKs for Python and Java, write a warning for each such event or give the stream up.
 */
export function comesBack(headers: Headers): boolean {
  return headers.has('sec-fetch-mode') || /^(node|undici|bun|deno|mozilla)\b/i.test(headers.get('user-agent') ?? '')
}
