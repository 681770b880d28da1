import type { GuardedRequest, GuardedResponse } from 'patchbay/contract'
import type { MessageLink, TransportIo, WireError } from 'patchbay/transport-kit'
import {
  DrainOnDisconnect,
  FollowedAddress,
  fetchFollowing,
  isMissingPath,
  type RemoteConfig,
  readRefusal,
  reasonOf,
  saysSession,
  sessionLost,
  statusReason,
  usableHeaders,
  wasNotSent,
} from 'patchbay/transport-kit'
import { SseStream } from './sse-stream.ts'

type Headers = Readonly<Record<string, string>>

const NOTICE_TIMEOUT_MS = 10_000
// Compressing middlewares hold back events of a stream until their buffer is full.
const PLAIN = { 'accept-encoding': 'identity' }

/** One message that the server has not accepted yet. */
interface Post {
  /** Set for a request; absent for a notification or a response. */
  readonly id: number | undefined
  readonly abort: AbortController
  done: ((accepted: boolean) => void) | undefined
}

/** One MCP session over HTTP with server-sent events. */
export class SseLink implements MessageLink {
  readonly #io: TransportIo
  readonly #configured: Headers
  readonly #stream: SseStream
  readonly #streamAbort = new AbortController()
  readonly #posts = new Set<Post>()
  /** Known once open() has resolved; nothing is sent before. */
  #endpoint!: FollowedAddress
  #path = ''
  /** Addresses for messages to try where the server has none at this one. */
  readonly #others: string[] = []
  #version: Headers = {}
  #usual: Headers | undefined
  #accepted = false
  /** Messages that wait until the server has accepted `notifications/initialized`. */
  #gate: (() => void)[] | undefined
  readonly #drain: DrainOnDisconnect

  constructor({ url, headers }: RemoteConfig, io: TransportIo) {
    this.#io = io
    this.#configured = usableHeaders(headers)
    this.#drain = new DrainOnDisconnect({
      lost: reason => io.lost(reason),
      closed: reason => {
        this.#stop()
        io.closed(reason)
      },
    })
    this.#stream = new SseStream({
      url,
      get: lastEventId => this.#get(url, lastEventId),
      message: text => io.message(text),
      tooLong: message => io.tooLong(message),
      get maxBytes() {
        return io.maxResultBytes
      },
      lost: reason => this.#drain.end(reason),
    })
    if (io.signal.aborted) this.#stop()
    else io.signal.addEventListener('abort', () => this.#stop(), { once: true })
  }

  get #over(): boolean {
    return this.#drain.over
  }

  get #dying(): WireError | undefined {
    return this.#drain.reason
  }

  /** Resolves once the server has sent the address for messages. */
  async open(): Promise<void> {
    const { url, others, deviation } = await this.#stream.open()
    this.#others.push(...others)
    if (deviation !== undefined) this.#io.deviates?.(deviation)
    this.#postTo(url)
  }

  #postTo(url: string): void {
    this.#path = new URL(url).pathname
    this.#endpoint = new FollowedAddress(this.#io.fetch, url)
  }

  /** `headers` are added to this one message. */
  send(text: string, id?: number, headers?: Headers): void {
    // Answers to the server's own requests belong to calls in flight, which may end over a lost session.
    if (this.#over || (this.#dying && id !== undefined)) {
      const reason = this.#dying ?? { code: 'connection_lost', message: 'The connection to the server is closed' }
      if (id !== undefined) this.#io.failed(id, reason, { notSent: true })
      return
    }
    if (this.#gate) {
      this.#gate.push(() => this.send(text, id, headers))
      return
    }
    // Messages use connections of their own and could overtake it; servers may reject messages that arrive before it.
    const opensGate = id === undefined && !this.#accepted && text.includes('"notifications/initialized"')
    if (opensGate) this.#gate = []
    this.#post(text, id, headers, opensGate ? accepted => this.#initialized(accepted) : undefined)
  }

  settled(protocolVersion: string): void {
    this.#version = { 'mcp-protocol-version': protocolVersion }
    this.#usual = undefined
  }

  abandoned(id: number): void {
    for (const post of this.#posts) if (post.id === id) this.#finish(post, false)
  }

  /** A session of this kind ends with its stream; nothing else is sent. */
  async close(): Promise<void> {
    this.#stop()
  }

  async #get(url: string, lastEventId: string | undefined): Promise<GuardedResponse> {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const headers = { ...this.#configured, accept: 'text/event-stream', ...PLAIN, ...this.#version, ...resume }
    const signal = this.#streamAbort.signal
    const request = { method: 'GET', headers, signal, headTimeoutMs: 0, idleTimeoutMs: 0 }
    return (await fetchFollowing(this.#io.fetch, url, request)).response
  }

  #post(text: string, id: number | undefined, headers: Headers | undefined, done: Post['done']): void {
    const post: Post = { id, abort: new AbortController(), done }
    this.#posts.add(post)
    const request = {
      method: 'POST',
      headers: headers ? this.#headers(headers) : this.#usualHeaders(),
      body: text,
      signal: post.abort.signal,
      // The caller sets the timeout of a call; abandoned() ends it.
      headTimeoutMs: id === undefined ? NOTICE_TIMEOUT_MS : 0,
      idleTimeoutMs: NOTICE_TIMEOUT_MS,
    }
    this.#exchange(post, request)
  }

  #exchange(post: Post, request: GuardedRequest): void {
    this.#endpoint.request(request).then(
      response => {
        const isMissing = !this.#accepted && isMissingPath(response.status)
        const other = isMissing && this.#posts.has(post) ? this.#others.shift() : undefined
        if (other === undefined) return this.#answered(post, response)
        response.cancel()
        this.#postTo(other)
        this.#exchange(post, request)
      },
      error => this.#failed(post, error),
    )
  }

  #usualHeaders(): Headers {
    // Made once and frozen, so that the client under it can cache the serialized form.
    this.#usual ??= Object.freeze(this.#headers({}))
    return this.#usual
  }

  #headers(extra: Headers): Headers {
    const own = { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...PLAIN }
    return { ...usableHeaders(extra), ...this.#configured, ...own, ...this.#version }
  }

  #answered(post: Post, response: GuardedResponse): void {
    if (!this.#posts.has(post)) return response.cancel()
    const { status } = response
    if (status >= 200 && status < 300) {
      const taken = () => this.#finish(post, true)
      // "Accepted" or nothing; read anyway, so that the connection can be reused.
      response.text().then(taken, taken)
      return
    }
    if (!this.#accepted && isMissingPath(status)) {
      response.cancel()
      return this.#fail(post, this.#endpointMissing(response), false)
    }
    if (status === 404) {
      response.cancel()
      this.#fail(post, sessionLost(), true)
      this.#drain.begin(sessionLost())
      return
    }
    void readRefusal(response).then(text => {
      if (this.#posts.has(post)) this.#fail(post, statusReason(response, undefined, saysSession(text ?? '')), false)
    })
  }

  /** During the handshake the server cannot have lost the session yet. */
  #endpointMissing(response: GuardedResponse): WireError {
    const { message, ...reason } = statusReason(response)
    // Without the query, which names the session.
    return { ...reason, message: `${message} at ${this.#path}, the address for messages that it named itself` }
  }

  #failed(post: Post, error: unknown): void {
    if (!this.#posts.has(post)) return
    const unsent = wasNotSent(error)
    const reason = reasonOf(error)
    this.#fail(post, reason, unsent)
    if (unsent && reason.code !== 'overloaded') this.#drain.begin(reason)
  }

  #fail(post: Post, reason: WireError, notSent: boolean): void {
    if (post.id !== undefined) this.#io.failed(post.id, reason, { notSent })
    else this.#io.log('warn', `A message to the server was not taken: ${reason.message}`)
    this.#finish(post, false)
  }

  #finish(post: Post, accepted: boolean): void {
    if (!this.#posts.delete(post)) return
    if (!accepted) post.abort.abort()
    post.done?.(accepted)
  }

  #initialized(accepted: boolean): void {
    const waiting = this.#gate ?? []
    this.#gate = undefined
    this.#accepted = accepted
    for (const send of waiting) send()
  }

  #stop(): void {
    this.#drain.stop()
    this.#stream.stop()
    this.#streamAbort.abort()
    for (const post of [...this.#posts]) this.#finish(post, false)
  }
}
