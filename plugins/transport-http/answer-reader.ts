import type { GuardedResponse } from 'patchbay/contract'
import type { LongMessage, WireError } from 'patchbay/transport-kit'
import {
  backoffMs,
  contentTypeOf,
  isBlockedRedirect,
  readEvents,
  reasonOf,
  SseParser,
  saysSession,
  sessionLost,
  wasNotSent,
} from 'patchbay/transport-kit'
import { answersRequest, unnamedError } from './answers.ts'
import type { Post } from './post.ts'
import { namedType, notAnAnswer, streamLost, wrongType } from './reasons.ts'

const ACCEPTED = 202
/** Content types that may hold a JSON answer; many frameworks send another one than they should, or none. */
const READ_TYPE = /^(?:$|text\/|application\/)/
/** The beginning of a stream of events. */
const EVENTS = /^(?:event|data|id|retry|):/
/** Time for which a stream may stay open after its response, in milliseconds. */
const AFTER_ANSWER_MS = 2_000
const RESUME_ATTEMPTS = 8

/** Callbacks of an `AnswerReader`. */
export interface AnswerReaderOptions {
  message(text: string, id: number | undefined): void
  /** The server deviates from MCP over HTTP in a way that is taken. */
  deviates(how: string): void
  /** A message on the stream of this request was too long. */
  tooLong(post: Post, message: LongMessage): void
  readonly maxBytes: number
  /** Sends a GET for a stream, resumed after this event. */
  get(lastEventId: string | undefined, signal: AbortSignal): Promise<GuardedResponse>
  /** True when a broken stream may be resumed. */
  resumes(): boolean
  hasSession(): boolean
  /** True when the answer to an accepted request may come on the server's own stream, and is waited for there. */
  isAnsweredElsewhere(post: Post): boolean
  /** The exchange itself failed; `error` undefined: the stream ended normally, but without the response. */
  failed(post: Post, error: unknown): void
  fail(post: Post, reason: WireError): void
  /** The server has accepted the message, and answered it if it was a request. */
  finish(post: Post): void
  /** A stream was rejected in a way that may mean that the session is lost. */
  sessionSuspect(): void
  /** Called when the server is unreachable, or has lost the session. */
  lost(reason: WireError): void
}

/** The messages of a whole stream of events. */
function eventsOf(text: string): readonly string[] {
  const messages: string[] = []
  const parser = new SseParser({ event: ({ type, data }) => type === 'message' && messages.push(data) })
  parser.push(`${text}\n\n`)
  return messages
}

/** Reads the response to a message with a 2xx head: JSON, or a stream of events that may be resumed. */
export class AnswerReader {
  readonly #options: AnswerReaderOptions

  constructor(options: AnswerReaderOptions) {
    this.#options = options
  }

  read(post: Post, response: GuardedResponse): void {
    const { failed, fail, finish } = this.#options
    const type = contentTypeOf(response)
    if (type.startsWith('text/event-stream')) return this.#readStream(post, response)
    if (post.id === undefined) {
      const taken = () => finish(post)
      // Usually empty; read anyway, so that the connection can be reused.
      response.text().then(taken, taken)
      return
    }
    if (response.status === ACCEPTED && this.#options.isAnsweredElsewhere(post)) return response.cancel()
    if (!READ_TYPE.test(type)) {
      response.cancel()
      return fail(post, wrongType(response.status, type))
    }
    response.text().then(
      text => this.#deliver(post, text, response.status, type),
      error => failed(post, error),
    )
  }

  #deliver(post: Post, body: string, status: number, type: string): void {
    const { id } = post
    // A byte order mark is no part of the JSON (RFC 8259, section 8.1).
    const text = body.startsWith('\uFEFF') ? body.slice(1) : body
    if (id === undefined || post.over) return
    post.open = false
    const isJson = type.startsWith('application/json')
    const messages = EVENTS.test(text) ? eventsOf(text) : [text]
    const usable = messages.map(message => (answersRequest(message, id) ? message : unnamedError(message)))
    if (usable.every(message => message === undefined)) {
      const session = !type.startsWith('text/html') && saysSession(text)
      const what = 'JSON that does not answer it'
      return this.#options.fail(post, isJson ? notAnAnswer(status, what, session) : wrongType(status, type, session))
    }
    if (messages[0] !== text) this.#options.deviates(`it sends a stream of events with ${namedType(type)}`)
    else if (!isJson) this.#options.deviates(`it answers with ${namedType(type)}, not "application/json"`)
    messages.forEach((message, at) => {
      this.#options.message(usable[at] ?? message, id)
    })
    this.#options.finish(post)
  }

  #readStream(post: Post, response: GuardedResponse): void {
    const { id } = post
    const message = (text: string) => {
      if (post.over) return
      post.failures = 0
      let shown = text
      if (id !== undefined && !post.answered) {
        const unnamed = text.includes('"error"') && !answersRequest(text, id) ? unnamedError(text) : undefined
        shown = unnamed ?? text
        post.answered = unnamed !== undefined || answersRequest(text, id)
        if (post.answered) post.timer = setTimeout(() => this.#options.finish(post), AFTER_ANSWER_MS)
      }
      this.#options.message(shown, id)
    }
    post.position ??= { lastEventId: undefined, retryMs: undefined }
    const options = this.#options
    readEvents(response, post.position, message, error => this.#streamEnded(post, error), {
      get maxBytes() {
        return options.maxBytes
      },
      tooLong: long => {
        if (!post.over) options.tooLong(post, long)
      },
      other: ({ type, data }) => {
        if (id === undefined || post.answered || !answersRequest(data, id)) return
        options.deviates(`it answers in events of the type ${JSON.stringify(type.slice(0, 80))}, not "message"`)
        message(data)
      },
    })
  }

  #streamEnded(post: Post, error: unknown): void {
    if (post.over) return
    post.open = false
    const { resumes, failed, fail, finish } = this.#options
    if (post.answered || post.id === undefined) return finish(post)
    const { position } = post
    if (position?.lastEventId === undefined || !resumes()) return failed(post, error ?? undefined)
    const failures = post.failures++
    if (failures >= RESUME_ATTEMPTS) return fail(post, streamLost())
    const delayMs = Math.max(position.retryMs ?? 0, backoffMs(failures, Math.random))
    post.timer = setTimeout(() => this.#resume(post), delayMs)
  }

  /** Resumes a call's stream after the last event received. */
  #resume(post: Post): void {
    post.open = true
    const { get, hasSession, fail, sessionSuspect, lost } = this.#options
    get(post.position?.lastEventId, post.abort.signal).then(
      response => {
        if (post.over) return response.cancel()
        const { status } = response
        if (status === 200 && contentTypeOf(response).startsWith('text/event-stream')) {
          return this.#readStream(post, response)
        }
        response.cancel()
        if (status >= 500 && status !== 501) return this.#streamEnded(post, undefined)
        if (status === 404 && hasSession()) lost(sessionLost(status))
        if (status === 400 && hasSession()) sessionSuspect()
        fail(post, streamLost())
      },
      error => {
        if (post.over) return
        if (isBlockedRedirect(error)) return fail(post, streamLost())
        if (!wasNotSent(error)) return this.#streamEnded(post, error)
        // The call itself was sent earlier: this is a lost response, whatever error this request has.
        fail(post, streamLost())
        lost(reasonOf(error))
      },
    )
  }
}
