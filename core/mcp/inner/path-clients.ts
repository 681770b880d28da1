import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { ServerRecord, UserActor } from '../../contract/records.ts'
import { FairTurns } from '../../domain/fair-turns.ts'
import { scopeOf } from '../../domain/session-scope.ts'
import { CHAIN_HEADER } from '../../secrets/hub-marks.ts'
import type { Outcome } from '../call/exchange.ts'
import type { Router } from '../call/router.ts'
import { SessionlessExchange } from '../call/sessionless-exchange.ts'
import type { UserLoads } from '../legacy/user-loads.ts'
import type { Notice } from '../rpc/notice.ts'
import type { Signal } from '../rpc/signal.ts'
import { accessLost } from '../scope/access-lost.ts'
import { passedHeaders } from '../scope/passed-headers.ts'
import { type Principals, parseScopePath, type ScopeTable } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import type { NotificationTarget, Subscribers } from '../scope/subscribers.ts'
import { userBinding } from '../scope/user-binding.ts'

/** The user, path and handlers of a client inside the hub. */
export interface PathClientOptions {
  readonly actor: UserActor
  /** The path, such as `/mcp/work`. */
  readonly path: string
  /** The name of the client in records of calls. */
  readonly clientName: string
  /** Most characters of a result's text that it shows. */
  readonly resultCharacters?: number
  /** Called when the list of tools may differ. */
  changed(): void
  /** Called when the path resolves to nothing any more for this actor, or the hub stops; at most once. */
  ended(): void
}

/** One tools/call, by the name that the client sees. */
export interface PathCall {
  readonly tool: string
  readonly arguments: JsonObject
  readonly requestId: string
  readonly clientAddress: string
  /** Headers of the request that asks for it; those that a server wants and the actor allows are passed on. Default: none. */
  readonly headers?: Headers
  /** As in `Exchange`. */
  readonly plainFailures?: true
  readonly signal: AbortSignal
}

/**
 * A client inside the hub at one path under `/mcp`, such as a bridge: its rights are checked again at each request, as those of
 * any client. It has no session, and answers no requests of servers.
 */
export interface PathClient {
  /** The first `most` tools at most, after the first lists of members that begin to start. */
  tools(most: number): Promise<readonly JsonObject[]>
  /** Rejects with HubError for what the hub itself refuses, such as `tool_not_found` and `quota_calls`. */
  call(call: PathCall): Promise<Outcome>
  close(): void
}

interface PathClientsParts {
  readonly scopes: ScopeTable
  readonly principals: Principals
  readonly loads: UserLoads
  readonly router: Router
  readonly subscribers: Subscribers
  readonly scopeChanged: Signal<[scope: Scope]>
  readonly scopeEnded: Signal<[scope: Scope]>
  readonly draining: () => boolean
}

interface Turns {
  /** A page of a list is a megabyte, and its reading takes milliseconds; clients of one user may ask all at once. */
  readonly turns: FairTurns
}

const NONE: ReadonlySet<OpenClient> = new Set()

/** The clients inside the hub. */
export class PathClients {
  readonly #parts: PathClientsParts & Turns
  readonly #open = new Map<Scope, Set<OpenClient>>()
  #made = 0

  constructor(parts: PathClientsParts) {
    this.#parts = { ...parts, turns: new FairTurns() }
    parts.subscribers.add(this)
    parts.scopeChanged.on(scope => {
      for (const client of this.of(scope)) client.endLost()
    })
    parts.scopeEnded.on(scope => {
      for (const client of [...this.of(scope)]) client.end()
    })
  }

  /** The clients of one scope, which are notified of its changes. */
  of(scope: Scope): ReadonlySet<OpenClient> {
    return this.#open.get(scope) ?? NONE
  }

  /** True when some call is in flight. */
  get busy(): boolean {
    return [...this.#open.values()].some(clients => [...clients].some(client => client.busy))
  }

  /** Throws `group_not_found` as for any client, `draining`. */
  async open(options: PathClientOptions): Promise<PathClient> {
    const { scopes, principals, draining } = this.#parts
    const path = parseScopePath(options.path)
    if (!path)
      throw new HubError('group_not_found', `Cannot open ${options.path.slice(0, 200)}: it is no path under /mcp`)
    if (draining()) throw stopping()
    const scope = await scopes.findInner(options.actor, principals.key(options.actor), path)
    this.#made += 1
    const client = new OpenClient(`inner-${this.#made}`, scope, options, this.#parts, () => this.#leave(client))
    this.#open.set(scope, (this.#open.get(scope) ?? new Set()).add(client))
    return client
  }

  endAll(): void {
    for (const clients of [...this.#open.values()]) for (const client of [...clients]) client.end()
  }

  #leave(client: OpenClient): void {
    const clients = this.#open.get(client.scope)
    clients?.delete(client)
    if (clients?.size === 0) this.#open.delete(client.scope)
  }
}

interface CallInFlight {
  readonly exchange: SessionlessExchange
  readonly lost: (error: HubError) => void
}

class OpenClient implements PathClient, NotificationTarget {
  readonly key: string
  readonly scope: Scope
  readonly subscriptions = new Set<string>()
  readonly bytes: NotificationTarget['bytes']
  ended = false
  readonly #options: PathClientOptions
  readonly #parts: PathClientsParts & Turns
  readonly #left: () => void
  readonly #calls = new Set<CallInFlight>()

  constructor(
    key: string,
    scope: Scope,
    options: PathClientOptions,
    parts: PathClientsParts & Turns,
    left: () => void,
  ) {
    this.key = key
    this.scope = scope
    this.bytes = parts.loads.of(options.actor.userId).bytes
    parts.loads.forget(options.actor.userId)
    this.#options = options
    this.#parts = parts
    this.#left = left
  }

  get busy(): boolean {
    return this.#calls.size > 0
  }

  notify({ method }: Notice): void {
    if (method === 'notifications/tools/list_changed') this.#options.changed()
  }

  ownConnection(server: ServerRecord) {
    return scopeOf(server) === 'per-user' ? userBinding(this.#options.actor.userId) : undefined
  }

  async tools(most: number): Promise<readonly JsonObject[]> {
    const found: JsonObject[] = []
    let cursor: unknown
    do {
      const params = typeof cursor === 'string' ? { cursor } : {}
      const { actor, clientName } = this.#options
      const caller = { actor, clientName, requestId: this.key, clientAddress: '' }
      const exchange = new SessionlessExchange({
        ...{ ...caller, params, method: 'tools/list' },
        signal: new AbortController().signal,
      })
      const outcome = await this.#handle(exchange)
      await new Promise<void>(resolve => this.#parts.turns.add(actor.userId, resolve))
      if (outcome.kind === 'failed') throw outcome.error
      if (outcome.kind !== 'result') throw new HubError('internal', 'The tools of the path cannot be listed')
      const page = JSON.parse(String(outcome.resultText)) as { tools?: readonly unknown[]; nextCursor?: unknown }
      found.push(...(page.tools ?? []).filter(isJsonObject))
      cursor = page.nextCursor
    } while (typeof cursor === 'string' && found.length < most)
    return found.slice(0, most)
  }

  async call({ tool, arguments: given, headers, ...request }: PathCall): Promise<Outcome> {
    const { actor, clientName, resultCharacters } = this.#options
    const params = { name: tool, arguments: given }
    const passthroughHeaders = headers && passedHeaders(headers, headers.get(CHAIN_HEADER), this.scope)
    const shows = resultCharacters === undefined ? {} : { resultCharacters }
    const caller = { actor, clientName, passthroughHeaders, ...shows }
    const exchange = new SessionlessExchange({ ...request, ...caller, method: 'tools/call', params })
    const { loads, router } = this.#parts
    const refused = (error: unknown): void =>
      router.refused(exchange, this.scope.resolved.group, 'tools/call', params, error)
    return loads.withoutSession(actor.userId, refused, async () => {
      const { promise, reject } = Promise.withResolvers<never>()
      const inFlight: CallInFlight = { exchange, lost: reject }
      this.#calls.add(inFlight)
      try {
        return await Promise.race([promise, this.#handle(exchange, refused)])
      } finally {
        this.#calls.delete(inFlight)
      }
    })
  }

  close(): void {
    this.ended = true
    this.#left()
  }

  end(): void {
    if (this.ended) return
    for (const call of this.#calls) call.lost(accessLost(this.scope, call.exchange.method))
    this.close()
    this.#options.ended()
  }

  /** Calls in flight to what this client may no longer use get an error, and are cancelled. */
  endLost(): void {
    for (const { exchange, lost } of this.#calls) {
      if (!exchange.target || this.scope.permits(exchange.method, exchange.target)) continue
      lost(accessLost(this.scope, exchange.method))
      exchange.cancel()
    }
  }

  /** `refused`: gets the error of a request that does not come to the router. */
  async #handle(exchange: SessionlessExchange, refused?: (error: unknown) => void): Promise<Outcome> {
    try {
      if (this.#parts.draining()) throw stopping()
      if (this.ended) throw accessLost(this.scope, exchange.method)
      if (this.scope.stale) await this.#parts.scopes.settle(this.scope)
    } catch (error) {
      refused?.(error)
      throw error
    }
    return this.#parts.router.handle(exchange, this.scope)
  }
}

function stopping(): HubError {
  return new HubError('draining', 'The hub is stopping', { retryAfterSeconds: 5 })
}
