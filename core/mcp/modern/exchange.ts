import type { AskReply, SessionBinding, UpstreamRequest } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { type Exchange, type Outcome, outcomeWord, type RequestEnded } from '../call/exchange.ts'
import type { UpstreamLevels } from '../changes/upstream-levels.ts'
import type { ScopedRequest } from '../legacy/scoped-request.ts'
import type { Envelope } from '../rpc/envelope.ts'
import type { LinkedNode } from '../rpc/linked-list.ts'
import { LOG_LEVELS, logLevelOf } from '../rpc/log-levels.ts'
import { isPlainObject, notificationMessage } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget, ScopeMember } from '../scope/scope-types.ts'
import { type InputRequest, missingCapability } from './input-requests.ts'
import type { Lease, LeaseHolder, Leases } from './leases.ts'
import { notOffered, OpenInputRequests, withdrawn } from './open-input-requests.ts'
import type { Parkable } from './parking.ts'
import type { Answering, ModernResponse } from './response.ts'

/** Only these methods may be answered with `input_required`. */
const PARKABLE: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** The parts that all modern exchanges share. */
export interface ModernExchangeParts {
  readonly leases: Leases
  readonly levels: UpstreamLevels
  readonly now: () => number
  /** Parks a request and sends its POST the input requests; false when too many are parked. */
  requestInput(
    exchange: ModernExchange,
    post: ModernResponse,
    inputRequests: ReadonlyMap<string, InputRequest>,
  ): boolean
  /** Called once when a request ends. */
  readonly requestEnded: RequestEnded
  /** Called at the end; `post` is the POST that waits for the outcome, undefined when none does. */
  ended(exchange: ModernExchange, post: ModernResponse | undefined, outcome: Outcome): void
}

/** Bytes charged for a request until it ends, parked or not. */
export interface HeldBytes {
  readonly account: ByteAccount
  readonly bytes: number
}

/** The input of a retry for an upstream that returned `input_required`. */
export interface PassedInput {
  readonly inputResponses: JsonValue | undefined
  /** The upstream's own state, and the server that it belongs to. */
  readonly state: { readonly serverId: string; readonly state: string } | undefined
  /** The responses say whether a page was visited; the server does not know of it. */
  readonly toPage?: true
}

/** One request of a modern client over all the POSTs that it takes; server requests of the upstream park it. */
export class ModernExchange implements Exchange, Parkable, LeaseHolder, Answering, LinkedNode<ModernExchange> {
  readonly requestId: string
  readonly clientAddress: string
  readonly clientName: string
  readonly clientVersion: string | undefined
  readonly method: string
  readonly params: JsonObject | undefined
  readonly actor: UserActor
  readonly principal: string
  readonly scope: Scope
  readonly session = undefined
  readonly notify: (method: string, params: JsonObject | undefined) => void
  readonly ask: (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<AskReply>
  readonly progress?: (params: JsonObject) => void
  readonly passthroughHeaders?: Readonly<Record<string, string>>
  target?: ExchangeTarget
  /** The capabilities in the client's last POST. */
  capabilities: JsonObject
  /** It ended with a request for something that the client does elsewhere; its retry is sent as a new request. */
  runAgain = false
  parkedSinceMs: number | undefined
  chainBefore: ModernExchange | undefined
  chainAfter: ModernExchange | undefined
  readonly #parts: ModernExchangeParts
  readonly #input: PassedInput | undefined
  readonly #held: HeldBytes
  /** The POST that waits for the response: the first one of the request, or a retry. */
  #post: ModernResponse | undefined
  #outcome: Outcome | undefined
  #lease: Lease | undefined
  #cancel: ((reason?: string) => void) | undefined
  #inputRequests: OpenInputRequests | undefined
  #missedProgress: JsonObject | undefined

  constructor(
    parts: ModernExchangeParts,
    { info, actor, principal, scope }: ScopedRequest,
    method: string,
    envelope: Envelope,
    post: ModernResponse,
    passthroughHeaders: Readonly<Record<string, string>> | undefined,
    input: PassedInput | undefined,
    held: HeldBytes,
  ) {
    this.#input = input
    this.#held = held
    held.account.add(held.bytes)
    this.#parts = parts
    this.#post = post
    this.requestId = info.requestId
    this.clientAddress = info.clientAddress
    this.clientName = envelope.clientName
    this.clientVersion = envelope.clientVersion
    this.method = method
    this.params = envelope.params
    this.capabilities = envelope.capabilities
    this.actor = actor
    this.principal = principal
    this.scope = scope
    if (passthroughHeaders) this.passthroughHeaders = passthroughHeaders
    if (envelope.progressToken !== undefined) this.progress = progress => this.#progress(progress)
    this.notify = (name, body) => this.#notify(name, body)
    this.ask = (name, body, signal) => this.#ask(name, body, signal)
  }

  /** The server to which it goes; empty while that is not known. */
  get serverId(): string {
    return this.target?.member.server.id ?? ''
  }

  get cancel(): (reason?: string) => void {
    return this.#cancel ?? (() => {})
  }

  /** Set once the request is sent; if it has ended before that, it is cancelled at once. */
  set cancel(cancel: (reason?: string) => void) {
    this.#cancel = cancel
    if (this.#outcome) cancel('The client is gone')
  }

  /** True when it may be answered with `input_required`. */
  get parkable(): boolean {
    return PARKABLE.has(this.method)
  }

  /** True when it contains a client's input responses; the result is then for this request alone. */
  get answersAsked(): boolean {
    return this.#input !== undefined
  }

  get pagesDeclined(): boolean {
    const { toPage, inputResponses: given } = this.#input ?? {}
    if (!toPage || typeof given !== 'object' || given === null) return false
    return Object.values(given).some(response => isPlainObject(response) && response.action !== 'accept')
  }

  /** The requested URI, as the client wrote it. */
  get uri(): JsonValue | undefined {
    return this.method === 'resources/read' ? this.params?.uri : undefined
  }

  /** Watches from now on whether the client is still connected. */
  watch(): void {
    this.#post?.watch()
  }

  /** Takes the outcome. Nothing more is sent for this request afterwards. `word`: the outcome in one. */
  finish(outcome: Outcome, word: string = outcomeWord(outcome)): void {
    if (this.#outcome) return
    this.#outcome = outcome
    this.#parts.requestEnded(this.method, 'modern', word)
    this.#held.account.give(this.#held.bytes)
    this.#lease?.release()
    this.#inputRequests?.end()
    const post = this.#post
    this.#post = undefined
    this.#parts.ended(this, post, outcome)
  }

  /** Ends the request and cancels the work. `answer`: the error for a client that waits; absent: none is sent. */
  abort(reason: string, answer?: HubError): void {
    if (this.#outcome) return
    this.#parts.leases.withdraw(this)
    this.#cancel?.(reason)
    this.finish(answer && this.#post ? { kind: 'failed', error: answer } : { kind: 'cancelled' })
  }

  /** The client closed the stream of this POST, which cancels its request; parked requests have no stream. */
  left(post: ModernResponse): void {
    if (this.#post === post) this.abort('The client closed the stream')
  }

  preempt(): void {
    this.abort('The connection is needed for another call of the same user')
  }

  expired(): void {
    this.abort('The client did not come back in time')
  }

  /** Throws params_invalid for a response of a wrong shape; the parked request stays parked. */
  checkResponses(responses: JsonObject): void {
    this.#inputRequests?.check(responses)
  }

  /** Continues with a retry and its input responses; responses to unknown keys are ignored. */
  resume(post: ModernResponse, responses: JsonObject, capabilities: JsonObject): void {
    this.parkedSinceMs = undefined
    this.capabilities = capabilities
    if (this.#outcome) {
      this.#parts.ended(this, post, this.#outcome)
      return
    }
    this.#post = post
    if (this.#missedProgress) this.#progress(this.#missedProgress)
    this.#inputRequests?.takeResponses(responses, capabilities)
  }

  modern(): NonNullable<UpstreamRequest['modern']> {
    const input = this.#input
    const rank = this.#post?.logLevel
    const { capabilities } = this
    // Most requests have nothing to add, and this runs with each call.
    if (rank === undefined && !input) return { capabilities }
    const level = LOG_LEVELS[rank ?? -1]
    return {
      capabilities,
      ...(level === undefined ? {} : { logLevel: level }),
      ...(input?.inputResponses === undefined || input.toPage ? {} : { inputResponses: input.inputResponses }),
      ...(input?.state === undefined ? {} : { requestState: input.state.state }),
    }
  }

  enter(
    scope: Scope,
    member: ScopeMember,
    tool?: string,
  ): SessionBinding | undefined | Promise<SessionBinding | undefined> {
    const state = this.#input?.state
    if (state && state.serverId !== member.server.id)
      throw new HubError('request_state_invalid', 'The requestState is of another server than the one that answers now')
    // A middleware may send a request twice.
    this.#lease?.release()
    const lease = this.#parts.leases.take(member.server, scope.face(member.server.id), this, tool)
    if (lease instanceof Promise) return lease.then(given => this.#entered(scope, member, given))
    return this.#entered(scope, member, lease)
  }

  #entered(scope: Scope, member: ScopeMember, lease: Lease | undefined) {
    if (this.#outcome) {
      lease?.release()
      throw new HubError('connection_lost', 'The client was gone before its call began')
    }
    this.#lease = lease
    const level = this.#post?.logLevel
    // A modern server gets the level in the request itself.
    const hasLevel = level === undefined || scope.face(member.server.id).era === 'modern'
    const raised = hasLevel ? undefined : this.#parts.levels.raise(scope, member, level, lease?.binding)
    const sent = () => {
      lease?.renewRoots()
      return lease?.binding
    }
    return raised === undefined ? sent() : raised.then(sent)
  }

  #notify(method: string, params: JsonObject | undefined): void {
    const post = this.#post
    if (!post) return
    if (method === 'notifications/message') {
      if (post.logLevel === undefined || logLevelOf(params?.level) < post.logLevel) return
    }
    post.send(notificationMessage(method, params))
  }

  #progress(progress: JsonObject): void {
    const post = this.#post
    this.#missedProgress = post ? undefined : progress
    if (post?.progressToken === undefined) return
    post.send(notificationMessage('notifications/progress', { ...progress, progressToken: post.progressToken }))
  }

  #ask(method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    if (!this.parkable || missingCapability(method, params, this.capabilities))
      return Promise.resolve(notOffered(method))
    if (signal.aborted || this.#outcome) return Promise.resolve(withdrawn())
    this.#inputRequests ??= new OpenInputRequests(this.#held.account, requests => this.#sendInputRequests(requests))
    const reply = this.#inputRequests.add(method, params, signal)
    if (this.#post) this.#inputRequests.beginRound()
    return reply
  }

  #sendInputRequests(requests: ReadonlyMap<string, InputRequest>): boolean {
    const post = this.#post
    // While no POST waits, the requests are sent with the answer to the next one.
    if (!post) return true
    if (!this.#parts.requestInput(this, post, requests)) return false
    this.#post = undefined
    this.parkedSinceMs = this.#parts.now()
    return true
  }
}
