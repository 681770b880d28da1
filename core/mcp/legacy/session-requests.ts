import { LIMITS } from '../../config/limits.ts'
import type { AskReply } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { serverRequestKind } from '../../domain/mcp-methods.ts'
import { isPlainObject, type Message, notificationMessage, requestMessage } from '../rpc/rpc.ts'

/** A stream on which a request to the client is written. */
export interface AskStream {
  send(text: string): void
}

/** The parts of its session that requests to a client use. */
export interface SessionRequestsHost {
  /** The capabilities that the client declared in `initialize`. */
  readonly capabilities: () => JsonObject
  /** A stream that the client reads now and that may carry a request of no particular call. */
  readonly anyStream: () => AskStream | undefined
  /** The byte account of the session's user, charged for requests that wait for a stream. */
  readonly bytes: () => ByteAccount
  /** Longest wait for a stream, of a request that belongs to no particular call. */
  readonly streamWaitMs: number
  /** Longest time in which the client may answer such a request. */
  readonly answerMs: number
}

interface OpenAsk {
  /** The text to send when there is a stream; '' once it was sent. */
  text: string
  /** The stream on which it was sent; undefined until then. */
  stream: AskStream | undefined
  /** The stream of the call that caused it, if one did: the request ends with that call. */
  readonly cause: AskStream | undefined
  timer: ReturnType<typeof setTimeout> | undefined
  answer(reply: AskReply): void
}

/** The hub's requests to one legacy client, by their ids in its session. */
export class SessionRequests {
  readonly #host: SessionRequestsHost
  readonly #open = new Map<number, OpenAsk>()
  #lastId = 0
  #waitingCharacters = 0
  #ended = false

  constructor(host: SessionRequestsHost) {
    this.#host = host
  }

  /**
   * Sends a request on the stream of the call that caused it; it ends with that call. Answers −32601 at once if the
   * client lacks the capability. `signal` cancels it: the client is notified, the promise resolves with an error.
   */
  onCall(cause: AskStream, method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    return this.#ask(cause, method, params, signal)
  }

  /**
   * Sends a request that belongs to no particular call: on the stream of any call, else on the GET stream, else it
   * waits `streamWaitMs` for either, and fails after that. The client has `answerMs` to answer. It does not end with
   * any call.
   */
  onSession(method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    return this.#ask(undefined, method, params, signal)
  }

  /** A stream has opened, or a call has begun: sends the requests that waited for one. */
  streamOpened(): void {
    if (this.#waitingCharacters === 0) return
    for (const [id, ask] of this.#open) {
      if (ask.stream) continue
      const stream = this.#host.anyStream()
      if (!stream) return
      this.#waited(ask)
      this.#send(id, ask, stream)
    }
  }

  /** Takes the client's response; one to an unknown id is ignored. */
  answered(message: Extract<Message, { kind: 'result' | 'error' }>): void {
    const id = Number(message.id)
    this.#settle(id, message.kind === 'result' ? { result: message.result } : { error: message.error })
  }

  /** The call of this stream has ended: requests that it caused are closed without a response. */
  closeCall(cause: AskStream): void {
    if (this.#open.size === 0) return
    for (const [id, ask] of this.#open) if (ask.cause === cause) this.#settle(id, WITHDRAWN)
  }

  end(): void {
    this.#ended = true
    for (const id of [...this.#open.keys()]) this.#settle(id, WITHDRAWN)
  }

  #ask(
    cause: AskStream | undefined,
    method: string,
    params: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<AskReply> {
    const capability = serverRequestKind(method)
    if (capability === undefined || !isPlainObject(this.#host.capabilities()[capability]))
      return Promise.resolve(refusal(-32601, `The client does not offer ${method}`))
    if (signal.aborted || this.#ended) return Promise.resolve(WITHDRAWN)
    this.#lastId += 1
    const id = this.#lastId
    const text = requestMessage(id, method, params)
    const stream = cause ?? this.#host.anyStream()
    if (!stream && !this.#mayWait(text))
      return Promise.resolve(refusal(-32603, 'The client has no open stream, and too many requests wait for one'))
    const { promise, resolve } = Promise.withResolvers<AskReply>()
    const withdraw = () => this.#withdraw(id)
    signal.addEventListener('abort', withdraw, { once: true })
    const ask: OpenAsk = {
      text,
      stream: undefined,
      cause,
      timer: undefined,
      answer: answer => {
        signal.removeEventListener('abort', withdraw)
        resolve(answer)
      },
    }
    this.#open.set(id, ask)
    if (stream) this.#send(id, ask, stream)
    else this.#wait(id, ask)
    return promise
  }

  #send(id: number, ask: OpenAsk, stream: AskStream): void {
    clearTimeout(ask.timer)
    ask.timer = undefined
    ask.stream = stream
    if (!ask.cause) ask.timer = setTimeout(() => this.#late(id), this.#host.answerMs)
    stream.send(ask.text)
    ask.text = ''
  }

  #mayWait({ length }: string): boolean {
    return this.#waitingCharacters + length <= LIMITS.eventReplayBytes && this.#host.bytes().fits(2 * length)
  }

  /** Releases the bytes charged for a waiting request. */
  #waited({ text }: OpenAsk): void {
    this.#waitingCharacters -= text.length
    this.#host.bytes().give(2 * text.length)
  }

  #wait(id: number, ask: OpenAsk): void {
    const { streamWaitMs } = this.#host
    this.#waitingCharacters += ask.text.length
    this.#host.bytes().add(2 * ask.text.length)
    ask.timer = setTimeout(() => {
      this.#settle(id, refusal(-32603, `The client had no call and no open stream for ${streamWaitMs} ms`))
    }, streamWaitMs)
  }

  #late(id: number): void {
    this.#tellWithdrawn(id)
    this.#settle(id, refusal(-32603, `The client did not answer within ${this.#host.answerMs} ms`))
  }

  #withdraw(id: number): void {
    this.#tellWithdrawn(id)
    this.#settle(id, WITHDRAWN)
  }

  #tellWithdrawn(id: number): void {
    const ask = this.#open.get(id)
    if (!ask?.stream) return
    // The call whose stream carried the session's request may have ended.
    const stream = ask.cause ?? this.#host.anyStream()
    stream?.send(notificationMessage('notifications/cancelled', { requestId: id }))
  }

  #settle(id: number, answer: AskReply): void {
    const ask = this.#open.get(id)
    if (!ask) return
    this.#open.delete(id)
    clearTimeout(ask.timer)
    if (!ask.stream) this.#waited(ask)
    ask.answer(answer)
  }
}

function refusal(code: number, message: string): AskReply {
  return { error: { code, message } }
}

const WITHDRAWN: AskReply = Object.freeze(refusal(-32603, 'The request was withdrawn before the client answered'))
