import type { HubError } from '../../contract/errors.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import { HELD_BYTES } from '../../request/held-body.ts'
import { heldJsonResponse, type ReplyHost, type SilentReply } from '../legacy/post-response.ts'
import type { ScopedRequest } from '../legacy/scoped-request.ts'
import type { UserLoad } from '../legacy/session.ts'
import type { StreamHost } from '../legacy/session-streams.ts'
import { SseConnection } from '../legacy/sse-connection.ts'
import type { ProgressToken } from '../rpc/progress-token.ts'
import type { IdText } from '../rpc/rpc.ts'

/** What the answers of all modern POSTs share. */
export type ModernReplyHost = ReplyHost & StreamHost

/** What waits for the answer that a POST wants. */
export interface Answering {
  /** The client of this POST went away before its answer. */
  left(reply: ModernResponse): void
}

/**
 * The answer to one modern POST: plain JSON when the answer comes first, server-sent events as soon as anything comes
 * before it, or after a silence. A client that goes away takes its request back by that.
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
  /** Set once somebody is at work. */
  answering: Answering | undefined
  readonly #host: ModernReplyHost
  readonly #scoped: ScopedRequest
  readonly #load: UserLoad
  #resolve!: (response: Response) => void
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
    this.response = new Promise(resolve => {
      this.#resolve = resolve
    })
    load.calls += 1
    host.waiting(this)
  }

  /** Looks from now on whether the client is still there; costs too much for calls that are over at once. */
  watch(): void {
    if (this.#watched || this.#done || this.#connection) return
    this.#watched = true
    const { signal } = this.#scoped.request
    if (signal.aborted) this.#left()
    else signal.addEventListener('abort', () => this.#left(), { once: true })
  }

  /** A notification ahead of the answer. */
  send(text: string): void {
    if (this.#done) return
    this.startStream()
    this.#connection?.message(text)
  }

  /** The last thing that is said. `status` holds where nothing was said before. */
  answer(text: JsonText, status: number): void {
    if (this.#done) return
    this.#finish()
    if (!this.#connection) {
      this.#resolve(heldJsonResponse(text, this.#load.bytes, status))
      return
    }
    this.#connection.message(text)
    this.#connection.close()
  }

  /** Why an answer of this length cannot wait for its client; undefined: it can. */
  refusal(characters: number): HubError | undefined {
    const { bytes } = this.#load
    return characters <= HELD_BYTES || bytes.fits(characters) ? undefined : bytes.refusal(characters)
  }

  /** Nothing more will be said. */
  abandon(): void {
    if (this.#done) return
    this.startStream()
    this.#finish()
    this.#connection?.close()
  }

  startStream(): void {
    if (this.#connection || this.#done) return
    this.#scoped.info.keepOpen()
    this.#host.begun(this)
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
    // Nobody reads it; without an answer the server would wait for one.
    if (!this.#connection) this.#resolve(new Response(null, { status: 202 }))
    this.answering?.left(this)
  }
}
