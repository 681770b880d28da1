import { jsonResponse, type ReplyHost, type SilentReply } from './post-reply.ts'
import type { UserLoad } from './session.ts'
import type { StreamHost } from './session-streams.ts'
import { SseConnection } from './sse-connection.ts'

/** What the answers of all modern POSTs share. */
export type ModernReplyHost = ReplyHost & StreamHost

/**
 * The answer to one modern POST: plain JSON when the answer comes first, server-sent events as soon as anything comes
 * before it, or after a silence. A client that goes away takes its request back by that.
 */
export class ModernReply implements SilentReply {
  readonly response: Promise<Response>
  readonly startedMs: number
  readonly #host: ModernReplyHost
  readonly #request: Request
  readonly #keepOpen: () => void
  readonly #load: UserLoad
  #resolve!: (response: Response) => void
  #connection: SseConnection | undefined
  #gone: (() => void) | undefined
  #watched = false
  #done = false

  constructor(host: ModernReplyHost, request: Request, load: UserLoad, keepOpen: () => void) {
    this.#host = host
    this.#request = request
    this.#load = load
    this.#keepOpen = keepOpen
    this.startedMs = host.now()
    this.response = new Promise(resolve => {
      this.#resolve = resolve
    })
    load.calls += 1
    host.waiting(this)
  }

  /** Called once when the client goes away before its answer. */
  set gone(gone: () => void) {
    this.#gone = gone
  }

  /** Looks from now on whether the client is still there; costs too much for calls that are over at once. */
  watch(): void {
    if (this.#watched || this.#done || this.#connection) return
    this.#watched = true
    const { signal } = this.#request
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
  answer(text: string, status: number): void {
    if (this.#done) return
    this.#finish()
    if (!this.#connection) {
      this.#resolve(jsonResponse(text, status))
      return
    }
    this.#connection.message(text)
    this.#connection.close()
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
    this.#keepOpen()
    this.#host.begun(this)
    this.#load.streams += 1
    const connection: SseConnection = new SseConnection(this.#host.now, () => {
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
    this.#gone?.()
  }
}
