import type { RpcError } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { freeText, type JsonText, weightOfText } from '../../domain/json/long-text.ts'
import type { Outcome } from '../call/exchange.ts'
import { isThrottled } from '../legacy/post-response.ts'
import { asHubError, errorMessage, isPlainObject, parseExact, resultMessage } from '../rpc/rpc.ts'
import { modernError, modernRefusal, statusOf } from './errors.ts'
import type { ModernExchange } from './exchange.ts'
import { type InputRequest, missingCapability, urlElicitations } from './input-requests.ts'
import type { Parking } from './parking.ts'
import type { ModernResponse } from './response.ts'
import type { ScopePresenters } from './scope-presenter.ts'
import type { SealedRequestState } from './sealed-request-state.ts'

/** Writes outcomes and input requests to the POSTs that wait for them. */
export class ModernResponseWriter {
  readonly #presenters: ScopePresenters
  readonly #parking: Parking<ModernExchange>
  readonly #passed: SealedRequestState

  constructor(presenters: ScopePresenters, parking: Parking<ModernExchange>, passed: SealedRequestState) {
    this.#passed = passed
    this.#presenters = presenters
    this.#parking = parking
  }

  /** Parks a request and sends the client its input requests; false when too many are parked. */
  requestInput(exchange: ModernExchange, post: ModernResponse, requests: ReadonlyMap<string, InputRequest>): boolean {
    const requestState = this.#parking.park(exchange)
    if (requestState === undefined) return false
    const inputRequests: JsonObject = {}
    for (const [key, { method, params }] of requests) inputRequests[key] = params ? { method, params } : { method }
    const result = { resultType: 'input_required', inputRequests, requestState }
    post.answer(resultMessage(post.id, this.#presenters.of(exchange.scope).result(exchange.method, result, false)), 200)
    return true
  }

  write(exchange: ModernExchange, post: ModernResponse, outcome: Outcome): void {
    if (outcome.kind === 'cancelled') post.abandon()
    else if (outcome.kind === 'error') this.#error(exchange, post, outcome.error)
    else if (outcome.kind === 'failed') this.#refuse(exchange, post, outcome.error)
    else if (outcome.kind === 'input_required') this.#inputRequired(exchange, post, outcome.resultText)
    else if (outcome.kind === 'task') this.#task(exchange, post, outcome.resultText)
    else this.#result(exchange, post, outcome.resultText)
  }

  /** The input requests of a modern upstream are forwarded unchanged, except for their state. */
  #inputRequired(exchange: ModernExchange, post: ModernResponse, text: string): void {
    const value = parseExact(text)
    const { requestState, ...asked } = isPlainObject(value) ? value : {}
    const wrong = exchange.parkable ? misfit(asked.inputRequests, requestState) : 'where it may not'
    if (wrong !== undefined) {
      this.#refuse(exchange, post, new HubError('upstream_protocol', `The server asks for input ${wrong}`))
      return
    }
    let state: JsonObject = {}
    try {
      if (typeof requestState === 'string') state = { requestState: this.#passed.seal(exchange, requestState) }
    } catch (error) {
      return this.#refuse(exchange, post, asHubError(error))
    }
    const presenter = this.#presenters.of(exchange.scope)
    post.answer(resultMessage(post.id, presenter.result(exchange.method, { ...asked, ...state }, false)), 200)
  }

  #task({ scope, method }: ModernExchange, post: ModernResponse, text: string): void {
    const value = parseExact(text)
    const task = isPlainObject(value) ? value : {}
    post.answer(resultMessage(post.id, this.#presenters.of(scope).result(method, task, false)), 200)
  }

  #result(exchange: ModernExchange, post: ModernResponse, text: JsonText): void {
    const { scope, serverId, method, answersAsked } = exchange
    // The upstream's own hints apply to reads alone, and its era is found for these only.
    const keepable = method === 'resources/read' && !answersAsked && scope.face(serverId).era === 'modern'
    const shaped = this.#presenters.of(scope).shape(method, text, keepable)
    if (shaped !== undefined) {
      const refusal = post.refusal(weightOfText(shaped))
      if (!refusal) return post.answer(resultMessage(post.id, shaped), 200)
      this.#refuse(exchange, post, refusal)
      return freeText(text)
    }
    const error = new HubError('upstream_protocol', 'The server answered with a result of a kind that it may not send')
    this.#refuse(exchange, post, error)
  }

  /** URL elicitations in an upstream's error become input requests; the retry is then sent as a new request. */
  #error(exchange: ModernExchange, post: ModernResponse, error: RpcError): void {
    const requests = new Map(urlElicitations(error).map((request, index) => [`elicitation_${index + 1}`, request]))
    if (requests.size === 0) {
      const written = modernError(error, exchange.uri)
      post.answer(errorMessage(post.id, written), statusOf(written))
      return
    }
    for (const { method, params } of requests.values()) {
      const requiredCapabilities = missingCapability(method, params, exchange.capabilities)
      if (!requiredCapabilities) continue
      const message = 'The server wants the user to visit a URL, and the client did not say that it can open one'
      this.#refuse(
        exchange,
        post,
        new HubError('client_capability_missing', message, { data: { requiredCapabilities } }),
      )
      return
    }
    exchange.runAgain = true
    if (this.requestInput(exchange, post, requests)) return
    const message = 'Cannot wait for the client: too many of its requests wait already'
    this.#refuse(exchange, post, new HubError('quota_parked', message, { retryAfterSeconds: 5 }))
  }

  #refuse({ requestId, uri }: ModernExchange, post: ModernResponse, error: HubError): void {
    const written = modernRefusal(error, requestId, uri)
    post.answer(errorMessage(post.id, written), statusOf(written), isThrottled(error) ? error : undefined)
  }
}

/** Why an upstream's input requests are invalid for any client; undefined: they are valid. */
function misfit(requests: JsonValue | undefined, state: JsonValue | undefined): string | undefined {
  if (state !== undefined && typeof state !== 'string') return 'with a requestState that is no text'
  if (requests === undefined) return state === undefined ? 'and does not say for which' : undefined
  const readable =
    isPlainObject(requests) &&
    Object.values(requests).every(request => isPlainObject(request) && typeof request.method === 'string')
  return readable ? undefined : 'with inputRequests that are no requests by their keys'
}
