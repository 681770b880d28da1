import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { LIST_METHODS, LISTS, listOfMethod } from '../../domain/mcp-methods.ts'
import type { Outcome, RequestEnded } from '../call/exchange.ts'
import type { Router } from '../call/router.ts'
import type { UpstreamLevels } from '../changes/upstream-levels.ts'
import { heldJsonResponse, isThrottled } from '../legacy/post-response.ts'
import { checkGetAccept } from '../legacy/request-headers.ts'
import type { ScopedRequest } from '../legacy/scoped-request.ts'
import type { UserLoad } from '../legacy/session.ts'
import { checkCallQuota } from '../legacy/user-loads.ts'
import { endedByHub } from '../rpc/ended-by-hub.ts'
import { checkStandardHeaders, type Envelope, openEnvelope } from '../rpc/envelope.ts'
import { RefusedMessage } from '../rpc/http-errors.ts'
import { LinkedList } from '../rpc/linked-list.ts'
import { LOG_LEVELS } from '../rpc/log-levels.ts'
import { asHubError, type IdText, invalid, type RequestMessage, readMessage, resultMessage } from '../rpc/rpc.ts'
import { accessLost } from '../scope/access-lost.ts'
import { passedHeaders } from '../scope/passed-headers.ts'
import type { Scope } from '../scope/scope.ts'
import { CAPABILITY_MISSING, modernRefusal } from './errors.ts'
import { type HeldBytes, ModernExchange, type ModernExchangeParts, type PassedInput } from './exchange.ts'
import { inputResponses } from './input-requests.ts'
import type { Leases } from './leases.ts'
import type { Listeners } from './listeners.ts'
import { ParamHeaders } from './param-headers.ts'
import type { Parking } from './parking.ts'
import { type ModernReplyHost, ModernResponse } from './response.ts'
import type { ModernResponseWriter } from './response-writer.ts'
import type { ScopePresenters } from './scope-presenter.ts'
import type { SealedRequestState } from './sealed-request-state.ts'

/** Time for which a call runs before the hub watches whether its client is still connected. */
const WATCH_AFTER_MS = 100
const ROUTED: ReadonlySet<string> = new Set([
  ...LIST_METHODS,
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'skills/list',
  'skills/get',
  'resources/directory/read',
])

interface ModernWireParts {
  readonly router: Router
  readonly presenters: ScopePresenters
  readonly answers: ModernResponseWriter
  readonly parking: Parking<ModernExchange>
  readonly passed: SealedRequestState
  readonly leases: Leases
  readonly levels: UpstreamLevels
  readonly listeners: Listeners
  readonly replies: ModernReplyHost
  readonly log: PluginLogger
  readonly draining: () => boolean
  readonly requestEnded: RequestEnded
  load(userId: string): UserLoad
}

/** Streamable HTTP of 2026-07-28: every POST is complete in itself, and none affects the next. */
export class ModernWire {
  readonly #parts: ModernWireParts
  readonly #exchangeParts: ModernExchangeParts
  readonly #paramHeaders = new ParamHeaders()
  /** All requests that have not ended, parked or not. */
  readonly #live = new LinkedList<ModernExchange>()
  #watching: ReturnType<typeof setTimeout> | undefined

  constructor(parts: ModernWireParts) {
    this.#parts = parts
    const { answers, parking, leases, levels, replies } = parts
    this.#exchangeParts = {
      leases,
      levels,
      now: replies.now,
      requestEnded: parts.requestEnded,
      requestInput: (exchange, post, requests) => !parts.draining() && answers.requestInput(exchange, post, requests),
      ended: (exchange, post, outcome) => {
        this.#live.delete(exchange)
        if (post) answers.write(exchange, post, outcome)
        else if (outcome.kind === 'cancelled') parking.take(exchange)
      },
    }
  }

  get live(): Iterable<ModernExchange> {
    return this.#live
  }

  /** True when some call is running, not only parked. */
  get busy(): boolean {
    for (const { parkedSinceMs } of this.#live) if (parkedSinceMs === undefined) return true
    return false
  }

  /** Handles one message. Throws RefusedMessage for what is rejected before it is forwarded. */
  receive(scoped: ScopedRequest, value: JsonValue, weight: number): Response | Promise<Response> {
    const message = readMessage(value)
    if (message.kind === 'bad') throw new RefusedMessage(message.id, new HubError('request_invalid', message.message))
    if (message.kind === 'notification') return new Response(null, { status: 202 })
    if (message.kind !== 'request') {
      const error = new HubError('request_invalid', 'A client of this protocol version sends no responses')
      throw new RefusedMessage(message.id, error)
    }
    return this.#answered(message.id, () => this.#request(scoped, message, weight))
  }

  /** True when some call in this scope has not ended. */
  serves(scope: Scope): boolean {
    for (const exchange of this.#live) if (exchange.scope === scope) return true
    return false
  }

  /** Called when a path resolves to nothing any more. */
  endScope(scope: Scope): void {
    const error = new HubError(
      'group_not_found',
      'The group or server at this path was removed or renamed before it had answered',
    )
    for (const exchange of this.#live) if (exchange.scope === scope) exchange.abort(error.message, error)
  }

  /** A scope has changed: ends calls to targets that their callers may not use any more. */
  endLost(scope: Scope): void {
    for (const exchange of this.#live) {
      const { method, target } = exchange
      if (exchange.scope !== scope || !target || scope.permits(method, target)) continue
      const error = accessLost(scope, method)
      exchange.abort(error.message, error)
    }
  }

  /** Ends parked calls, which no client can retry any more. */
  endParked(reason: string): void {
    for (const exchange of this.#live) if (exchange.parkedSinceMs !== undefined) exchange.abort(reason)
  }

  /** Ends all requests in flight with an error response. */
  endAll(reason: string): void {
    const error = endedByHub(reason)
    for (const exchange of this.#live) exchange.abort(error.message, error)
  }

  dispose(): void {
    clearTimeout(this.#watching)
    this.endAll('hub_stopped')
  }

  #answered<Answer>(id: IdText, answer: () => Answer): Answer {
    try {
      return answer()
    } catch (thrown) {
      const error = asHubError(thrown)
      if (error.code === 'client_capability_missing') throw new RefusedMessage(id, error, 400, CAPABILITY_MISSING)
      throw new RefusedMessage(id, error, error.code === 'method_not_found' ? 404 : error.status)
    }
  }

  #request(scoped: ScopedRequest, message: RequestMessage, weight: number): Response | Promise<Response> {
    const { presenters, listeners } = this.#parts
    const { method, id, params } = message
    const { scope, request } = scoped
    const envelope = openEnvelope(message, request.headers)
    checkStandardHeaders(method, params, request.headers)
    if (method === 'server/discover') {
      const text = resultMessage(id, presenters.of(scope).discover())
      return heldJsonResponse(text, this.#parts.load(scoped.actor.userId).bytes)
    }
    const listens = method === 'subscriptions/listen'
    const list = listOfMethod(method)
    const has = !list || LISTS[list].capability in presenters.of(scope).capabilities || scope.promisedAllLists
    if (!listens && !(ROUTED.has(method) && has))
      throw new HubError('method_not_found', `There is no method "${method.slice(0, 64)}" here`)
    if (listens) {
      checkGetAccept(request.headers)
      this.#refuseDraining()
      return listeners.open(scoped, id, params, envelope.capabilities)
    }
    return this.#call(scoped, id, method, envelope, weight)
  }

  #refuseDraining(): void {
    if (this.#parts.draining()) throw new HubError('draining', 'The hub is stopping', { retryAfterSeconds: 5 })
  }

  #checkParamHeaders({ scope, request }: ScopedRequest, { params, capabilities }: Envelope): void {
    const name = params?.name
    const tool = typeof name === 'string' ? scope.tool(name, capabilities)?.item : undefined
    if (tool) this.#paramHeaders.check(tool, params?.arguments, request.headers)
  }

  /** Starts a request, or resumes a parked one; a call that is refused before that is recorded here. */
  #call(scoped: ScopedRequest, id: IdText, method: string, envelope: Envelope, weight: number): Promise<Response> {
    let begun: () => Promise<Response>
    try {
      begun = this.#admit(scoped, id, method, envelope, weight)
    } catch (error) {
      const { info, actor, scope } = scoped
      const { requestId, clientAddress } = info
      const { clientName, clientVersion, params } = envelope
      const caller = { requestId, clientAddress, clientName, clientVersion, actor }
      this.#parts.router.refused(caller, scope.resolved.group, method, params, error)
      throw error
    }
    return begun()
  }

  #admit(
    scoped: ScopedRequest,
    id: IdText,
    method: string,
    envelope: Envelope,
    weight: number,
  ): () => Promise<Response> {
    this.#refuseDraining()
    if (method === 'tools/call') this.#checkParamHeaders(scoped, envelope)
    const { load, parking, passed, replies } = this.#parts
    const { principal, scope, actor } = scoped
    const userLoad = load(actor.userId)
    checkCallQuota(userLoad)
    if (!userLoad.bytes.fits(weight)) throw userLoad.bytes.refusal(weight)
    const logLevel = rankOf(envelope.logLevel)
    const { requestState, progressToken, params } = envelope
    const responses = inputResponses(envelope.inputResponses)
    let state: PassedInput['state']
    let parked: ModernExchange | undefined
    if (requestState !== undefined) {
      const retry = { principal, scope, method, params }
      state = passed.open(requestState, retry)
      if (!state) parked = parking.find(requestState, retry)
    }
    if (responses) parked?.checkResponses(responses)
    const post = new ModernResponse(replies, scoped, userLoad, id, progressToken, logLevel)
    return () => {
      if (parked) parking.take(parked)
      if (parked && !parked.runAgain) {
        this.#watch(parked, post)
        parked.resume(post, responses ?? {}, envelope.capabilities)
      } else {
        const toPage = parked ? { toPage: true as const } : {}
        const input = responses || state ? { inputResponses: responses, state, ...toPage } : undefined
        this.#start(scoped, method, envelope, post, input, { account: userLoad.bytes, bytes: weight })
      }
      return post.response
    }
  }

  #start(
    scoped: ScopedRequest,
    method: string,
    envelope: Envelope,
    post: ModernResponse,
    input: PassedInput | undefined,
    held: HeldBytes,
  ): void {
    const exchange = new ModernExchange(
      this.#exchangeParts,
      scoped,
      method,
      envelope,
      post,
      passedHeaders(scoped.request.headers, scoped.chain, scoped.scope),
      input,
      held,
    )
    this.#live.add(exchange)
    this.#watch(exchange, post)
    const refuse = (error: unknown): void => exchange.finish(this.#refused(error, exchange), asHubError(error).code)
    let outcome: Outcome | Promise<Outcome>
    try {
      outcome = this.#parts.router.handle(exchange, scoped.scope)
    } catch (error) {
      return refuse(error)
    }
    if (outcome instanceof Promise) outcome.then(result => exchange.finish(result), refuse)
    else exchange.finish(outcome)
  }

  #watch(exchange: ModernExchange, post: ModernResponse): void {
    post.answering = exchange
    this.#watching ??= setTimeout(() => {
      this.#watching = undefined
      for (const each of this.#live) each.watch()
    }, WATCH_AFTER_MS)
  }

  #refused(error: unknown, { requestId, uri }: ModernExchange): Outcome {
    if (!(error instanceof HubError))
      this.#parts.log.error('An MCP request failed inside the hub', { requestId, error: String(error) })
    const refusal = asHubError(error)
    if (isThrottled(refusal)) return { kind: 'failed', error: refusal }
    return { kind: 'error', error: modernRefusal(refusal, requestId, uri) }
  }
}

function rankOf(level: JsonValue | undefined): number | undefined {
  if (level === undefined) return undefined
  const rank = LOG_LEVELS.indexOf(level as (typeof LOG_LEVELS)[number])
  if (rank < 0) throw invalid(`The log level of a request must be one of ${LOG_LEVELS.join(', ')}`)
  return rank
}
