import type { GuardedResponse, LongMessage, WireError } from 'patchbay/contract'
import {
  backoffMs,
  contentTypeOf,
  isBlockedRedirect,
  readEvents,
  reasonOf,
  sessionLost,
  wasNotSent,
} from 'patchbay/transport-kit'
import { answersRequest } from './answers.ts'
import type { Post } from './post.ts'
import { notAnAnswer, streamLost } from './reasons.ts'

/** How long a stream may stay open behind its answer. */
const AFTER_ANSWER_MS = 2_000
const RESUME_ATTEMPTS = 8

export interface AnswerReaderOptions {
  message(text: string, id: number | undefined): void
  /** A message on the stream of this one was too long. */
  tooLong(post: Post, message: LongMessage): void
  readonly maxBytes: number
  /** A GET for a stream, taken up behind this event. */
  get(lastEventId: string | undefined, signal: AbortSignal): Promise<GuardedResponse>
  /** Whether a stream that breaks may be taken up again. */
  resumes(): boolean
  hasSession(): boolean
  /** The exchange itself failed; `error` undefined: the stream ended in good order, but without the answer. */
  failed(post: Post, error: unknown): void
  fail(post: Post, reason: WireError): void
  /** The server has taken the message, and answered it where it was a request. */
  finish(post: Post): void
  /** A stream is refused in a way that may mean the session. */
  sessionSuspect(): void
  /** The server is gone, or has forgotten the session. */
  lost(reason: WireError): void
}

/** Reads what comes back for a message with a 2xx head: JSON, or a stream of events that may be taken up again. */
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
      // Usually empty; read all the same, so that the connection can be used again.
      response.text().then(taken, taken)
      return
    }
    if (!type.startsWith('application/json')) {
      response.cancel()
      return fail(post, notAnAnswer(`HTTP ${response.status} and neither JSON nor a stream of events`))
    }
    response.text().then(
      text => this.#deliverJson(post, text),
      error => failed(post, error),
    )
  }

  #deliverJson(post: Post, text: string): void {
    const { id } = post
    if (id === undefined || post.over) return
    post.open = false
    if (!answersRequest(text, id)) return this.#options.fail(post, notAnAnswer('JSON that does not answer it'))
    this.#options.message(text, id)
    this.#options.finish(post)
  }

  #readStream(post: Post, response: GuardedResponse): void {
    const { id } = post
    const message = (text: string) => {
      if (post.over) return
      post.failures = 0
      if (id !== undefined && !post.answered && answersRequest(text, id)) {
        post.answered = true
        post.timer = setTimeout(() => this.#options.finish(post), AFTER_ANSWER_MS)
      }
      this.#options.message(text, id)
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

  /** Takes a call's stream up again behind the last event that came. */
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
        // The call itself was sent long ago: its end is a loss, whatever became of this request.
        fail(post, streamLost())
        lost(reasonOf(error))
      },
    )
  }
}
