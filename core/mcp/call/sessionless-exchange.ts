import type { AskReply, SessionBinding } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import { scopeOf } from '../../domain/session-scope.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget, ScopeMember } from '../scope/scope-types.ts'
import { userBinding } from '../scope/user-binding.ts'
import type { Exchange } from './exchange.ts'

/** One request without a client session. */
export interface SessionlessRequest extends Pick<Exchange, 'requestId' | 'clientAddress' | 'method' | 'actor'> {
  readonly params: JsonObject
  /** As in {@link Exchange}. */
  readonly clientName?: string
  readonly resultCharacters?: number
  readonly plainFailures?: true
  readonly passthroughHeaders?: Readonly<Record<string, string>> | undefined
  readonly progress?: ((params: JsonObject) => void) | undefined
  /** Cancels the request at the upstream. */
  readonly signal: AbortSignal
}

/** A request without a client session: server requests have no recipient, and log messages no stream. */
export class SessionlessExchange implements Exchange {
  readonly requestId: string
  readonly clientAddress: string
  readonly clientName?: string
  readonly resultCharacters?: number
  readonly method: string
  readonly params: JsonObject
  readonly actor: UserActor
  readonly session = undefined
  readonly plainFailures?: true
  readonly progress?: (params: JsonObject) => void
  readonly passthroughHeaders?: Readonly<Record<string, string>>
  target?: ExchangeTarget
  readonly #signal: AbortSignal
  #cancel: ((reason?: string) => void) | undefined

  constructor(request: SessionlessRequest) {
    this.requestId = request.requestId
    this.clientAddress = request.clientAddress
    this.method = request.method
    this.actor = request.actor
    this.params = request.params
    if (request.clientName !== undefined) this.clientName = request.clientName
    if (request.resultCharacters !== undefined) this.resultCharacters = request.resultCharacters
    if (request.plainFailures) this.plainFailures = true
    if (request.progress) this.progress = request.progress
    if (request.passthroughHeaders) this.passthroughHeaders = request.passthroughHeaders
    this.#signal = request.signal
    this.#signal.addEventListener('abort', () => this.cancel(), { once: true })
  }

  get cancel(): () => void {
    return () => this.#cancel?.('The caller went away')
  }

  /** Set once the request is sent; if the caller has gone before that, it is cancelled at once. */
  set cancel(cancel: (reason?: string) => void) {
    this.#cancel = cancel
    if (this.#signal.aborted) this.cancel()
  }

  /** Selects this user's connection where each user has one. */
  enter(_scope: Scope, { server }: ScopeMember): SessionBinding | undefined {
    return scopeOf(server) === 'per-user' ? userBinding(this.actor.userId) : undefined
  }

  notify(): void {}

  ask(method: string): Promise<AskReply> {
    return Promise.resolve({ error: { code: -32601, message: `Nobody can answer ${method} here` } })
  }
}
