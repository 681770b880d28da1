import type { AskReply, SessionBinding } from '../../connections/api.ts'
import type { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import { freeText, type JsonText, weightOfText } from '../../domain/json/long-text.ts'
import { HELD_BYTES } from '../../request/held-body.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import { type Exchange, type Outcome, outcomeWord, type RequestEnded } from '../call/exchange.ts'
import { clientNameOf, clientVersionOf } from '../rpc/client-name.ts'
import { logLevelOf } from '../rpc/log-levels.ts'
import { progressToken } from '../rpc/progress-token.ts'
import {
  errorMessage,
  type IdText,
  isPlainObject,
  notificationMessage,
  type RequestMessage,
  resultMessage,
  rpcError,
} from '../rpc/rpc.ts'
import type { ExchangeTarget } from '../scope/scope-types.ts'
import { isThrottled } from './post-response.ts'
import type { Session } from './session.ts'
import type { SessionStream } from './session-streams.ts'

/** Writes the outcome of a call. */
export interface CallReply {
  /** Its stream has no reader now; the client may resume it. */
  readonly broken: boolean
  /** The stream on which the response will be written; undefined while it can still be plain JSON. */
  readonly carrier: SessionStream | undefined
  /** `throttled`: the error in the text, where it is one that has a status of HTTP too. */
  answer(text: JsonText, throttled?: HubError): void
  /** The call was cancelled, so it gets no response. */
  withoutAnswer(): void
  /** Sends a notification or a request of the hub before the response. */
  send(text: string): void
}

/** One request of a legacy client as an exchange; its transport decides where the response is written. */
export class LegacyCall implements Exchange {
  readonly requestId: string
  readonly clientAddress: string
  readonly method: string
  readonly params: JsonObject | undefined
  readonly actor: UserActor
  readonly session: SessionBinding
  readonly notify: (method: string, params: JsonObject | undefined) => void
  readonly ask: (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<AskReply>
  readonly progress?: (params: JsonObject) => void
  readonly passthroughHeaders?: Readonly<Record<string, string>>
  target?: ExchangeTarget
  readonly #session: Session
  readonly #id: IdText
  readonly #reply: CallReply
  readonly #weight: number
  readonly #ended: RequestEnded
  #done = false
  #cancel: ((reason?: string) => void) | undefined
  #cancelled = false

  constructor(
    session: Session,
    { requestId, clientAddress }: Pick<RequestInfo, 'requestId' | 'clientAddress'>,
    { id, method, params }: RequestMessage,
    weight: number,
    reply: CallReply,
    passthroughHeaders: Readonly<Record<string, string>> | undefined,
    ended: RequestEnded,
  ) {
    this.#ended = ended
    this.#session = session
    this.#id = id
    this.#reply = reply
    this.#weight = weight
    session.load.bytes.add(weight)
    this.requestId = requestId
    this.clientAddress = clientAddress
    this.method = method
    this.actor = session.actor
    this.session = session.binding
    if (passthroughHeaders) this.passthroughHeaders = passthroughHeaders
    const token = progressToken(params?._meta)
    this.params = token === undefined ? params : withoutToken(params)
    if (token !== undefined)
      this.progress = progress => this.#send('notifications/progress', { ...progress, progressToken: token })
    this.notify = (name, body) => this.#notify(name, body)
    this.ask = (name, body, signal) => session.requests.onCall(reply, name, body, signal)
  }

  get clientName(): string {
    return clientNameOf(this.#session.clientInfo)
  }

  get clientVersion(): string | undefined {
    return clientVersionOf(this.#session.clientInfo)
  }

  get capabilities(): JsonObject {
    return this.session.capabilities
  }

  get stream(): CallReply {
    return this.#reply
  }

  get cancel(): (reason?: string) => void {
    return this.#cancel ?? (() => {})
  }

  /** Set once the request is sent; if the call was cancelled before that, it is cancelled at once. */
  set cancel(cancel: (reason?: string) => void) {
    this.#cancel = cancel
    if (this.#cancelled) cancel('Cancelled by the client')
  }

  /** Ends the call: cancels the request if one was sent; the client gets a response only if `answer` is given. */
  abort(reason: string, answer?: HubError): void {
    if (this.#done) return
    this.#cancelled = true
    this.#cancel?.(reason)
    this.finish(answer ? { kind: 'failed', error: answer } : { kind: 'cancelled' })
  }

  /** Writes the outcome. Nothing more is sent for this call afterwards. */
  finish(outcome: Outcome): void {
    if (this.#done) return
    this.#done = true
    this.#ended(this.method, 'legacy', outcomeWord(outcome))
    const session = this.#session
    if (session.calls.get(this.#id) === this) session.calls.delete(this.#id)
    session.load.calls -= 1
    session.load.bytes.give(this.#weight)
    if (outcome.kind === 'result') this.#answer(outcome.resultText)
    else if (outcome.kind === 'error') this.#reply.answer(errorMessage(this.#id, outcome.error))
    else if (outcome.kind === 'failed') {
      const { error } = outcome
      this.#reply.answer(
        errorMessage(this.#id, rpcError(error, this.requestId)),
        isThrottled(error) ? error : undefined,
      )
    } else this.#reply.withoutAnswer()
    session.streams.callsChanged()
  }

  #answer(resultText: JsonText): void {
    const { bytes } = this.#session.load
    const weight = weightOfText(resultText)
    if (weight <= HELD_BYTES || bytes.fits(weight)) {
      this.#reply.answer(resultMessage(this.#id, resultText))
      return
    }
    this.#reply.answer(errorMessage(this.#id, rpcError(bytes.refusal(weight), this.requestId)))
    freeText(resultText)
  }

  #notify(method: string, params: JsonObject | undefined): void {
    if (method === 'notifications/message' && !this.#wanted(params)) return
    this.#send(method, params)
  }

  #send(method: string, params: JsonObject | undefined): void {
    if (!this.#done) this.#reply.send(notificationMessage(method, params))
  }

  #wanted(params: JsonObject | undefined): boolean {
    return logLevelOf(params?.level) >= (this.#session.logLevel ?? logLevelOf('info'))
  }
}

function withoutToken(params: JsonObject | undefined): JsonObject {
  const { _meta, ...rest } = params ?? {}
  if (!isPlainObject(_meta)) return rest
  const { progressToken: _, ...meta } = _meta
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest
}
