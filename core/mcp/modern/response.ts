import type { HubError } from '../../contract/errors.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import { HELD_BYTES } from '../../request/held-body.ts'
import { heldJsonResponse, type ReplyHost, type SilentReply, throttledResponse } from '../legacy/post-response.ts'
import { acceptsJsonAlone } from '../legacy/request-headers.ts'
import type { ScopedRequest } from '../legacy/scoped-request.ts'
import type { UserLoad } from '../legacy/session.ts'
import type { StreamHost } from '../legacy/session-streams.ts'
import { SseConnection } from '../legacy/sse-connection.ts'
import type { ProgressToken } from '../rpc/progress-token.ts'
import type { IdText } from '../rpc/rpc.ts'

/** The host that the responses to all modern POSTs share. */
export type ModernReplyHost = ReplyHost & StreamHost

/** The exchange whose response a POST waits for. */
export interface Answering {
  /** Called when the client of this POST disconnects before the response. */
  left(reply: ModernResponse): void
}

/**
 * The response to one modern POST: plain JSON when the result comes first; an event stream as soon as another message
 * comes before it, or after some silence. A client that disconnects cancels its request.
 */
export class ModernResponse implements SilentReply {
  readonly response: Promise<Response>
  readonly startedMs: number
  chainBefore: SilentReply | undefined
  chainAfter: SilentReply | undefined
  readonly id: IdText
  readonly progressToken: ProgressToken | undefined
  /** Rank of the least severe log message that it wants; undefined: none. */
  readonly logLevel: number | undefined
  /** Set once the request is being handled. */
  answering: Answering | undefined
  readonly #host: ModernReplyHost
  readonly #scoped: ScopedRequest
  readonly #load: UserLoad
  #resolve!: (response: Response) => void
  /** The client accepts no event stream: what comes before the response is dropped. */
  readonly #jsonAlone: boolean
  #connection: SseConnection | undefined
  #watched = false
  #done = false

  constructor(
    host: ModernReplyHost,
    scoped: ScopedRequest,
    load: UserLoad,
    id: IdText,
    progressToken: ProgressToken | undefined,
    logLevel: number | undefined,
  ) {
    this.#host = host
    this.#scoped = scoped
    this.#load = load
    this.id = id
    this.progressToken = progressToken
    this.logLevel = logLevel
    this.startedMs = host.now()
    this.#jsonAlone = acceptsJsonAlone(scoped.request.headers)
    this.response = new Promise(resolve => {
      this.#resolve = resolve
    })
    load.calls += 1
    host.waiting(this)
  }

  /** Watches from now on whether the client is still connected; too expensive for calls that end at once. */
  watch(): void {
    if (this.#watched || this.#done || this.#connection) return
    this.#watched = true
    const { signal } = this.#scoped.request
    if (signal.aborted) this.#left()
    else signal.addEventListener('abort', () => this.#left(), { once: true })
  }

  /** Sends a notification before the response. */
  send(text: string): void {
    if (this.#done) return
    this.startStream()
    this.#connection?.message(text)
  }

  /** Sends the response and ends. `status` is used if nothing was sent before, as is that of `throttled`, the error in the text. */
  answer(text: JsonText, status: number, throttled?: HubError): void {
    if (this.#done) return
    this.#finish()
    if (!this.#connection) {
      const { bytes } = this.#load
      this.#resolve(throttled ? throttledResponse(text, throttled, bytes) : heldJsonResponse(text, bytes, status))
      return
    }
    this.#connection.message(text)
    this.#connection.close()
  }

  /** The error if a response of this length may not wait for its client; undefined: it may. */
  refusal(characters: number): HubError | undefined {
    const { bytes } = this.#load
    return characters <= HELD_BYTES || bytes.fits(characters) ? undefined : bytes.refusal(characters)
  }

  /** Ends without a response. */
  abandon(): void {
    if (this.#done) return
    this.startStream()
    this.#finish()
    if (this.#connection) this.#connection.close()
    else this.#resolve(new Response(null, { status: 202 }))
  }

  startStream(): void {
    if (this.#connection || this.#done) return
    this.#scoped.info.keepOpen()
    this.#host.begun(this)
    if (this.#jsonAlone) return
    this.#load.streams += 1
    const connection: SseConnection = new SseConnection(this.#host.now, this.#load.bytes, () => {
      this.#load.streams -= 1
      this.#host.closed(connection)
      this.#left()
    })
    this.#connection = connection
    this.#host.opened(connection)
    this.#resolve(connection.response)
  }

  #finish(): void {
    this.#done = true
    this.#load.calls -= 1
    if (!this.#connection) this.#host.begun(this)
  }

  #left(): void {
    if (this.#done) return
    this.#finish()
    // The client is gone, but the server would wait for a response.
    if (!this.#connection) this.#resolve(new Response(null, { status: 202 }))
    this.answering?.left(this)
  }
}
