import type { GuardedRequest, GuardedResponse } from 'patchbay/contract'
import type { LongMessage, MessageLink, TransportIo, WireError } from 'patchbay/transport-kit'
import {
  DrainOnDisconnect,
  FollowedAddress,
  readRefusal,
  reasonOf,
  SequenceMap,
  saysSession,
  sessionLost,
  statusReason,
  wasNotSent,
} from 'patchbay/transport-kit'
import { AnswerReader } from './answer-reader.ts'
import { answersRequest, readErrorBody } from './answers.ts'
import { Gate } from './gate.ts'
import { ListenStream } from './listen-stream.ts'
import { Post } from './post.ts'
import { streamLost } from './reasons.ts'
import { RequestHeaders } from './request-headers.ts'
import { ServerSession } from './server-session.ts'

/** From this version on there are no sessions, no streams except those of requests, and no resumption. */
const FIRST_MODERN = '2026-07-28'
/**
 * Longest wait for the head of the server's own stream before the first requests go out. Most servers drop what they send on a
 * stream that is not open yet: a list that changes after it was read stays old, and a call in which the server sends a request
 * hangs. Some servers hold the head back until they have something to send, so the wait is limited: to eight times the server's
 * time for accepting `notifications/initialized`, within these limits in milliseconds.
 */
const OWN_STREAM_MS = { least: 500, most: 10_000, factor: 8 } as const
const NOTICE_TIMEOUT_MS = 10_000
const CLOSE_TIMEOUT_MS = 1_900

/** One server over Streamable HTTP: one MCP session, or in the modern era self-contained requests. */
export class HttpLink implements MessageLink {
  readonly #address: FollowedAddress
  readonly #io: TransportIo
  readonly #headers: RequestHeaders
  readonly #posts = new SequenceMap<Post>()
  readonly #answers: AnswerReader
  readonly #listen: ListenStream
  readonly #listenAbort = new AbortController()
  readonly #session: ServerSession
  #lastNoticeKey = 0
  #settled = false
  #modern = false
  #accepted = false
  /** Closed until the server accepted `notifications/initialized` and has its own stream open where needed. */
  readonly #gate = new Gate()
  readonly #drain: DrainOnDisconnect
  /** Requests that were accepted with HTTP 202, whose answers come on the server's own stream. */
  readonly #awaited = new Set<number>()

  constructor(url: string, headers: Readonly<Record<string, string>>, io: TransportIo) {
    this.#address = new FollowedAddress(io.fetch, url)
    this.#io = io
    this.#headers = new RequestHeaders(headers)
    this.#drain = new DrainOnDisconnect(io)
    this.#answers = new AnswerReader({
      message: (text, id) => io.message(text, id),
      deviates: how => io.deviates?.(how),
      tooLong: (post, message) => this.#tooLong(post, message),
      get maxBytes() {
        return io.maxResultBytes
      },
      get: (lastEventId, signal) => this.#get(lastEventId, signal),
      resumes: () => !this.#modern,
      hasSession: () => this.#session.given,
      isAnsweredElsewhere: post => this.#isAnsweredElsewhere(post),
      failed: (post, error) => this.#failed(post, error),
      fail: (post, reason) => this.#fail(post, reason),
      finish: post => this.#finish(post, true),
      sessionSuspect: () => this.#checkSession(),
      lost: reason => this.#die(reason),
    })
    this.#listen = new ListenStream({
      open: lastEventId => this.#get(lastEventId, this.#listenAbort.signal),
      message: text => {
        for (const id of this.#awaited) if (answersRequest(text, id)) this.#awaited.delete(id)
        io.message(text)
      },
      ended: () => this.#failAwaited(),
      tooLong: message => io.tooLong(message),
      get maxBytes() {
        return io.maxResultBytes
      },
      hasSession: () => this.#session.given,
      tried: () => this.#gate.open(),
      sessionSuspect: () => this.#checkSession(),
      lost: reason => this.#die(reason),
      log: (level, message) => io.log(level, message),
    })
    this.#session = new ServerSession(body =>
      this.#address.request({
        method: 'POST',
        headers: this.#headers.post(undefined),
        body,
        signal: this.#listenAbort.signal,
        headTimeoutMs: NOTICE_TIMEOUT_MS,
        idleTimeoutMs: NOTICE_TIMEOUT_MS,
      }),
    )
    if (io.signal.aborted) this.#stop()
    else io.signal.addEventListener('abort', () => this.#stop(), { once: true })
  }

  get #over(): boolean {
    return this.#drain.over
  }

  get #dying(): WireError | undefined {
    return this.#drain.reason
  }

  /** `headers` are added to this one message. */
  send(text: string, id?: number, headers?: Readonly<Record<string, string>>): void {
    // Answers to the server's own requests belong to calls in flight, which may end over a lost session.
    if (this.#over || (this.#dying && id !== undefined)) {
      const reason = this.#dying ?? { code: 'connection_lost', message: 'The connection to the server is closed' }
      if (id !== undefined) this.#io.failed(id, reason, { notSent: true })
      return
    }
    if (this.#gate.holds(() => this.send(text, id, headers))) return
    // Requests use connections of their own and could overtake it; servers may reject requests that arrive before it.
    const opensGate = id === undefined && !this.#accepted && text.includes('"notifications/initialized"')
    if (opensGate) this.#gate.close()
    const sentMs = performance.now()
    const done = (accepted: boolean): void => this.#initialized(accepted, performance.now() - sentMs)
    this.#post(text, id, headers, opensGate ? done : undefined)
  }

  settled(protocolVersion: string): void {
    this.#settled = true
    this.#modern = protocolVersion >= FIRST_MODERN
    if (this.#modern) this.#headers.modern()
    this.#headers.add('mcp-protocol-version', protocolVersion)
  }

  abandoned(id: number): void {
    const post = this.#posts.get(id)
    this.#awaited.delete(id)
    if (post) this.#finish(post)
  }

  async close(): Promise<void> {
    const ends = !this.#over && this.#dying === undefined && this.#session.given
    this.#stop()
    if (!ends || this.#io.signal.aborted) return
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(), CLOSE_TIMEOUT_MS)
    try {
      const response = await this.#address.request({
        method: 'DELETE',
        headers: this.#headers.delete(),
        signal: abort.signal,
      })
      response.cancel()
    } catch (error) {
      this.#io.log('debug', `The session could not be ended: ${reasonOf(error).message}`)
    } finally {
      clearTimeout(timer)
    }
  }

  #post(
    text: string,
    id: number | undefined,
    headers: Readonly<Record<string, string>> | undefined,
    done: Post['done'],
  ): void {
    const key = id ?? --this.#lastNoticeKey
    const post = new Post(key, id, done)
    this.#posts.set(key, post)
    const request: GuardedRequest = {
      method: 'POST',
      headers: this.#headers.post(headers),
      body: text,
      signal: post.abort.signal,
      maxBytes: this.#io.maxResultBytes,
      // The caller sets the timeout of a call; abandoned() ends it.
      headTimeoutMs: id === undefined ? NOTICE_TIMEOUT_MS : 0,
      idleTimeoutMs: id === undefined ? NOTICE_TIMEOUT_MS : 0,
    }
    this.#address.request(request).then(
      response => this.#answered(post, response),
      error => this.#failed(post, error),
    )
  }

  #answered(post: Post, response: GuardedResponse): void {
    if (post.over) return response.cancel()
    const { status, headers } = response
    if (status < 200 || status > 299) return this.#refused(post, response)
    if (!this.#session.given && !this.#settled) this.#learnSession(headers['mcp-session-id'])
    this.#answers.read(post, response)
  }

  /** Some servers answer every POST with 202, and on their own stream, as in the transport with server-sent events. */
  #isAnsweredElsewhere(post: Post): boolean {
    if (post.id === undefined || !this.#listen.isOpen) return false
    this.#awaited.add(post.id)
    this.#io.deviates?.('it accepts requests with HTTP 202 and answers them on its own stream')
    this.#finish(post, true)
    return true
  }

  #failAwaited(): void {
    for (const id of this.#awaited) this.#io.failed(id, streamLost())
    this.#awaited.clear()
  }

  #get(lastEventId: string | undefined, signal: AbortSignal): Promise<GuardedResponse> {
    const headers = this.#headers.get(lastEventId)
    return this.#address.request({ method: 'GET', headers, signal, headTimeoutMs: 0, idleTimeoutMs: 0 })
  }

  #refused(post: Post, response: GuardedResponse): void {
    const { status } = response
    if (!this.#session.given) return this.#tellRefusal(post, response)
    if (status === 404) return this.#forgotten(post, response)
    // During the handshake there is no session that could be checked.
    if (status !== 400 || !this.#accepted) return this.#tellRefusal(post, response)
    void this.#session.known().then(known => {
      if (known) this.#tellRefusal(post, response)
      else this.#forgotten(post, response)
    })
  }

  /** The server no longer has the session, so it has not started to process the message. */
  #forgotten(post: Post, response: GuardedResponse): void {
    response.cancel()
    this.#fail(post, sessionLost(response.status), true)
    this.#die(sessionLost(response.status))
  }

  #checkSession(): void {
    void this.#session.known().then(known => {
      if (!known) this.#die(sessionLost(400))
    })
  }

  #tellRefusal(post: Post, response: GuardedResponse): void {
    if (post.over) return response.cancel()
    const { status } = response
    const { id } = post
    if (id === undefined) {
      response.cancel()
      return this.#fail(post, statusReason(response))
    }
    void readRefusal(response).then(text => {
      if (post.over) return
      if (text === undefined) return this.#fail(post, statusReason(response))
      const body = readErrorBody(text, id)
      if (!body?.own || status === 401 || status === 403)
        return this.#fail(post, statusReason(response, body?.code, saysSession(text)))
      this.#io.message(text, id)
      this.#finish(post)
    })
  }

  /** The exchange itself failed; `error` undefined: the stream ended normally, but without the response. */
  #failed(post: Post, error: unknown): void {
    if (post.over) return
    const unsent = wasNotSent(error)
    const reason = error === undefined ? streamLost() : reasonOf(error)
    this.#fail(post, reason, unsent)
    if (unsent && reason.code !== 'overloaded') this.#die(reason)
    // Opening the server's own stream shows whether the server or only this connection was lost.
    else if (reason.code === 'connection_lost' && this.#accepted) this.#listen.start()
  }

  /** A notification before the response is dropped alone; any other message ends the request and its stream. */
  #tooLong(post: Post, message: LongMessage): void {
    this.#io.tooLong(message, post.id)
    if (post.id !== undefined && (message.answers.includes(post.id) || !message.hasMethod)) this.#finish(post)
  }

  #fail(post: Post, reason: WireError, notSent = false): void {
    if (post.over) return
    if (post.id !== undefined) this.#io.failed(post.id, reason, { notSent })
    else this.#io.log('warn', `A message to the server was not taken: ${reason.message}`)
    this.#finish(post)
  }

  #finish(post: Post, accepted = false): void {
    if (post.over) return
    post.over = true
    this.#posts.delete(post.key)
    if (post.timer !== undefined) clearTimeout(post.timer)
    if (post.open) post.abort.abort()
    post.done?.(accepted)
  }

  #learnSession(id: string | undefined): void {
    if (id === undefined) return
    if (this.#session.learn(id)) this.#headers.add('mcp-session-id', id)
    else this.#io.log('warn', 'The server named a session id that is not visible ASCII; it is not used')
  }

  #initialized(accepted: boolean, tookMs: number): void {
    this.#accepted = accepted
    const listens = accepted && !this.#over && !this.#dying
    const { least, most, factor } = OWN_STREAM_MS
    if (listens) this.#gate.openWithin(Math.min(most, Math.max(least, factor * tookMs)))
    else this.#gate.open()
    if (listens) this.#listen.start()
  }

  #die(reason: WireError): void {
    if (!this.#drain.begin(reason)) return
    this.#listen.retire()
    this.#gate.open()
  }

  #stop(): void {
    this.#drain.stop()
    this.#listen.stop()
    this.#listenAbort.abort()
    for (const [, post] of this.#posts.entries()) this.#finish(post)
    this.#gate.open()
  }
}
