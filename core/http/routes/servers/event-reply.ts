import type { BytesInFlight } from '../../../domain/byte-account.ts'
import { freeText, type JsonText, weightOfText } from '../../../domain/json/long-text.ts'
import { SseConnection } from '../../../mcp/legacy/sse-connection.ts'
import { streamedProblem } from './problem-part.ts'

const KEEP_ALIVE_MS = 15_000

/** One event of a stream: a name, and a text which is JSON. */
export interface ReplyEvent {
  readonly name: string
  readonly text: JsonText
}

/** Options of a stream of events. */
export interface EventReplyOptions {
  readonly bytes: Pick<BytesInFlight, 'user'>
  readonly userId: string
  readonly requestId: string
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** True when `Accept` names event streams: progress and result are then sent as events. */
export function wantsStream(headers: Headers): boolean {
  return (headers.get('accept') ?? '')
    .toLowerCase()
    .split(',')
    .some(part => part.split(';')[0]?.trim() === 'text/event-stream')
}

/**
 * Returns a stream of events: those that `run` emits, and the one that it returns as the last. A failure becomes an `error`
 * event with the problem. Bytes that the client has not received are charged to its user. A client that reads too slowly is
 * disconnected and the work aborted, since a server may send progress without end.
 */
export function eventReply(
  { bytes, userId, requestId, signal }: EventReplyOptions,
  run: (emit: (event: ReplyEvent) => void, signal: AbortSignal) => Promise<ReplyEvent>,
): Response {
  const stop = new AbortController()
  const account = bytes.user(userId)
  const connection = new SseConnection(
    () => performance.now(),
    account,
    () => stop.abort(),
  )
  const alive = setInterval(() => connection.comment(), KEEP_ALIVE_MS)
  const failed = (error: unknown) => sseEvent('error', JSON.stringify({ ...streamedProblem(error), requestId }))
  const emit = ({ name, text }: ReplyEvent): void => void connection.events(sseEvent(name, String(text)))
  const last = ({ name, text }: ReplyEvent): string => {
    const weight = weightOfText(text)
    const event = account.fits(weight) ? sseEvent(name, String(text)) : failed(account.refusal(weight))
    freeText(text)
    return event
  }
  void run(emit, AbortSignal.any([signal, stop.signal]))
    .then(last)
    .catch(failed)
    .then(event => {
      clearInterval(alive)
      connection.events(event)
      connection.close()
    })
  return connection.response
}

/** Returns one event. The text may have line breaks between JSON tokens: each line becomes its own `data:` line. */
export function sseEvent(name: string, text: string): string {
  const data = text.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
  return `event: ${name}\n${data.join('')}\n`
}
