import { LIMITS } from '../../config/limits.ts'
import type { AskReply } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import { isPlainObject, type Message, notificationMessage, requestMessage } from '../rpc/rpc.ts'

/** Where a request to the client is written. */
export interface AskStream {
  send(text: string): void
}

export interface SessionAsksHost {
  /** What the client declared in `initialize`. */
  readonly capabilities: () => JsonObject
  /** A stream that the client reads now and that may carry a request of no particular call. */
  readonly anyStream: () => AskStream | undefined
  /** How long a request of no particular call waits for a stream. */
  readonly streamWaitMs: number
  /** How long the client has for its answer to such a request. */
  readonly answerMs: number
}

interface OpenAsk {
  /** What was sent, or will be sent when there is a stream. */
  readonly text: string
  /** The stream it went out on; undefined while none is open. */
  stream: AskStream | undefined
  /** Set when one call caused it: it ends with that call. */
  readonly cause: AskStream | undefined
  timer: ReturnType<typeof setTimeout> | undefined
  answer(reply: AskReply): void
}

const ASK_CAPABILITY: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}

/** The requests of the hub to one legacy client, by the ids they have in its session. */
export class SessionRequests {
  readonly #host: SessionAsksHost
  readonly #open = new Map<number, OpenAsk>()
  #lastId = 0
  #waitingCharacters = 0
  #ended = false

  constructor(host: SessionAsksHost) {
    this.#host = host
  }

  /**
   * A request on the stream of the call that caused it, with which it ends. Answers −32601 at once when the client did not
   * declare the capability. `signal` withdraws it: the client is told, and the promise resolves with an error.
   */
  onCall(cause: AskStream, method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    return this.#ask(cause, method, params, signal)
  }

  /**
   * A request that belongs to the session and to no particular call: on the stream of any call, else the GET stream, else it
   * waits `streamWaitMs` for either, and is refused after that. The client has `answerMs` to answer. It does not
   * end with any call.
   */
  onSession(method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    return this.#ask(undefined, method, params, signal)
  }

  /** A stream has opened, or a call has begun: sends what waited for one. */
  streamOpened(): void {
    if (this.#waitingCharacters === 0) return
    for (const [id, ask] of this.#open) {
      if (ask.stream) continue
      const stream = this.#host.anyStream()
      if (!stream) return
      this.#waitingCharacters -= ask.text.length
      this.#send(id, ask, stream)
    }
  }

  /** The client's answer; one to an id that is not open is ignored. */
  answered(message: Extract<Message, { kind: 'result' | 'error' }>): void {
    const id = Number(message.id)
    this.#settle(id, message.kind === 'result' ? { result: message.result } : { error: message.error })
  }

  /** The call behind this stream is over: what it caused gets no answer any more. */
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
    const capability = ASK_CAPABILITY[method]
    if (capability === undefined || !isPlainObject(this.#host.capabilities()[capability]))
      return Promise.resolve(refusal(-32601, `The client does not offer ${method}`))
    if (signal.aborted || this.#ended) return Promise.resolve(WITHDRAWN)
    this.#lastId += 1
    const id = this.#lastId
    const text = requestMessage(id, method, params)
    const stream = cause ?? this.#host.anyStream()
    if (!stream && this.#waitingCharacters + text.length > LIMITS.eventReplayBytes)
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
  }

  #wait(id: number, ask: OpenAsk): void {
    const { streamWaitMs } = this.#host
    this.#waitingCharacters += ask.text.length
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
    // The call whose stream carried a request of the session may be over by now.
    const stream = ask.cause ?? this.#host.anyStream()
    stream?.send(notificationMessage('notifications/cancelled', { requestId: id }))
  }

  #settle(id: number, answer: AskReply): void {
    const ask = this.#open.get(id)
    if (!ask) return
    this.#open.delete(id)
    clearTimeout(ask.timer)
    if (!ask.stream) this.#waitingCharacters -= ask.text.length
    ask.answer(answer)
  }
}

function refusal(code: number, message: string): AskReply {
  return { error: { code, message } }
}

const WITHDRAWN: AskReply = Object.freeze(refusal(-32603, 'The request was withdrawn before the client answered'))
