import type {
  Failed,
  RpcError,
  SessionBinding,
  UpstreamCall,
  UpstreamReply,
  UpstreamRequest,
  Upstreams,
} from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, UserActor } from '../../contract/records.ts'
import { connectionKey } from '../../domain/session-scope.ts'
import type { ContentFilter } from '../../features/filters.ts'
import { filteredRequest, filtersOf, type PassedParams, type RequestFilters } from '../filters/request-filter.ts'
import { asHubError, isPlainObject } from '../rpc/rpc.ts'
import { accessLost } from '../scope/access-lost.ts'
import { exposeErrorUri, exposeUris, type OwnUri } from '../scope/resource-targets.ts'
import type { Scope } from '../scope/scope.ts'
import type { ScopeMember, Target } from '../scope/scope-types.ts'
import { afterTrial, awaitProbe, placeCaller } from './asked-clients.ts'
import type { HeldRecord } from './call-records.ts'
import type { Exchange, Outcome } from './exchange.ts'
import { pageVisit, seenFailure, URL_ELICITATION_REQUIRED } from './seen-failure.ts'
import { wantedHeaders } from './sent-params.ts'
import type { Begin, Change } from './task-run.ts'

/** One request with its scope. */
export interface Routed {
  readonly exchange: Exchange
  readonly scope: Scope
  /** The result is truncated to its group's limit later, since middlewares may change it. */
  readonly truncatedLater?: true
  /** The parameters stand for a call of a plugin's tool: they name a member's tool. */
  readonly inner?: true
  /** Takes the record of the call, which is written once middlewares are done with it. */
  readonly held?: HeldRecord
  /** The parameters of a call have passed its filters. */
  readonly passed?: PassedParams | undefined
}

/** True for a user with the role `see` for a server. */
export type SeesWhole = (actor: UserActor, server: ServerRecord) => boolean

interface ForwarderParts {
  readonly upstreams: Upstreams
  /** True when the user has the role `see` for a server: it gets reasons of failures. */
  readonly seesWhole: SeesWhole
  readonly filters: () => ReadonlyMap<string, ContentFilter>
  /** Resolves a scope again; it is gone afterwards if it resolves to nothing. Rejects when the store fails. */
  readonly refresh: (scope: Scope) => Promise<unknown>
  /**
   * Handles a notification that arrived on a call's stream; true when it did not belong to that call alone.
   * `connection`: the key of the connection that it came by, undefined for the shared one.
   */
  readonly sharedNotice: (
    serverId: string,
    connection: string | undefined,
    method: string,
    params: JsonObject | undefined,
  ) => boolean
  /** The `elicitationId` for the sign-in of a session's user at a server. The session is notified when the sign-in is done. */
  readonly pageVisitId: (sessionId: string | undefined, serverId: string) => string
  /** Records a URL elicitation in an upstream's error; the upstream notifies of its completion later. */
  readonly recordUrlElicitation: (sessionId: string, serverId: string, elicitationId: string) => void
}

type Work = (begin: Begin) => Promise<UpstreamReply>
type SentTo = Pick<Target, 'member' | 'variablesIn'> & { readonly original?: string }

/** Sends requests to the members of a scope and converts their replies. */
export class Forwarder {
  readonly #parts: ForwarderParts

  constructor(parts: ForwarderParts) {
    this.#parts = parts
  }

  /** Sends a request to one member; `finish` converts its reply. `work`: for calls that take several requests. */
  forward(
    routed: Routed,
    target: SentTo,
    params: JsonObject | undefined,
    finish: (reply: UpstreamReply) => Outcome,
    work?: Work,
  ): Promise<Outcome> {
    const { exchange, scope } = routed
    exchange.target = target
    const probed = awaitProbe(exchange, scope, target.member)
    const send = () => this.#forward(routed, target, params, finish, work)
    const sendTried = () => afterTrial(exchange, scope, target.member, params?.name, send)
    return probed === undefined ? sendTried() : probed.then(sendTried)
  }

  #forward(
    routed: Routed,
    target: SentTo,
    params: JsonObject | undefined,
    finish: (reply: UpstreamReply) => Outcome,
    work?: Work,
  ): Promise<Outcome> {
    const { exchange, scope } = routed
    const { resolved } = scope
    const deliver = (reply: UpstreamReply) =>
      scope.stale || scope.resolved !== resolved ? this.#authorized(routed, target, reply, finish) : finish(reply)
    const tool = exchange.method === 'tools/call' && typeof params?.name === 'string' ? params.name : undefined
    if (tool !== undefined && exchange.session) placeCaller(exchange.session, scope, target.member, tool)
    const entered = exchange.enter?.(scope, target.member, tool)
    if (entered instanceof Promise)
      return entered.then(session => this.#send(routed, target, session, params, work).then(deliver))
    return this.#send(routed, target, entered ?? exchange.session, params, work).then(deliver)
  }

  /** The caller's rights changed since the request was sent: the reply is delivered only if access remains. */
  async #authorized(
    routed: Routed,
    target: SentTo,
    reply: UpstreamReply,
    finish: (reply: UpstreamReply) => Outcome,
  ): Promise<Outcome> {
    try {
      await this.settled(routed, target)
    } catch (error) {
      return finish(toFailed(error))
    }
    return finish(reply)
  }

  /** The parameters of a tools/call as its filters let them pass; undefined: nothing looks at them. `before`: its earlier outcome. */
  passed(
    { exchange, scope }: Routed,
    target: Target,
    sent: JsonObject,
    before?: PassedParams,
  ): Promise<PassedParams> | undefined {
    const found = this.#filtersOf(exchange, scope, target)
    if (!found) return undefined
    return before && found.isSame(before.filters) ? Promise.resolve(before) : found.pass(sent)
  }

  #filtersOf(exchange: Exchange, scope: Scope, { member, original }: SentTo): RequestFilters | undefined {
    return filtersOf(this.#parts.filters(), () => filteredRequest(scope, member.server, exchange, original))
  }

  /** Resolves once the scope is up to date. Throws when the caller may not use the target any more, or that cannot be found out. */
  async settled({ exchange, scope }: Routed, target: SentTo): Promise<void> {
    try {
      while (scope.stale && !scope.gone) await this.#parts.refresh(scope)
    } catch (error) {
      // Fails closed, with the store's own error if that was the cause.
      if (!scope.gone) throw error
    }
    if (!scope.permits(exchange.method, target)) throw accessLost(scope, exchange.method)
  }

  /** Converts a reply: results and upstream errors unchanged, except for URIs with another form in this scope. */
  outcome({ exchange, scope }: Routed, member: ScopeMember, reply: UpstreamReply, own?: OwnUri): Outcome {
    switch (reply.kind) {
      case 'result':
        return {
          ...{ kind: 'result', resultText: exposeUris(scope, member, reply.text, own) },
          ...(reply.refused?.unsent ? { unsent: true } : {}),
        }
      case 'input_required':
        return { kind: 'input_required', resultText: reply.text }
      case 'task':
        return { kind: 'task', resultText: reply.text }
      case 'error':
        this.#noteElicitations(exchange, member, reply.error)
        return { kind: 'error', error: exposeErrorUri(scope, member, reply.error, own) }
      case 'failed':
        return this.#failed(exchange, member, reply)
      case 'cancelled':
        return { kind: 'cancelled' }
    }
  }

  #failed(exchange: Exchange, { server }: ScopeMember, reply: Failed): Outcome {
    const { actor } = exchange
    const reader = { userId: actor.userId, seesReason: this.#parts.seesWhole(actor, server) }
    const error = seenFailure(reply, reader, server, this.#parts.upstreams)
    const visit = pageVisit(exchange, error, () => this.#parts.pageVisitId(exchange.session?.id, server.id))
    return visit ? { kind: 'error', error: visit } : { kind: 'failed', error }
  }

  #send(
    routed: Routed,
    target: SentTo,
    session: SessionBinding | undefined,
    params: JsonObject | undefined,
    work: Work | undefined,
  ): Promise<UpstreamReply> {
    if (work) return work(change => this.#begin(routed, target, session, params, change))
    const call = this.#begin(routed, target, session, params)
    routed.exchange.cancel = reason => call.cancel(reason)
    return call.reply
  }

  #begin(
    routed: Routed,
    target: SentTo,
    session: SessionBinding | undefined,
    params: JsonObject | undefined,
    change: Change = {},
  ): UpstreamCall {
    const { exchange, scope } = routed
    const { member, variablesIn } = target
    const serverId = member.server.id
    const face = scope.face(serverId)
    const connection = connectionKey(member.server, session, face)
    const request: { -readonly [Key in keyof UpstreamRequest]: UpstreamRequest[Key] } = {
      method: change.method ?? exchange.method,
      params: change.params ?? params,
      notification: (method, body) => {
        if (!this.#parts.sharedNotice(serverId, connection, method, body)) exchange.notify(method, body)
      },
      ask: change.ask ?? exchange.ask,
    }
    if (variablesIn) request.variablesIn = variablesIn
    const progress = change.progress ?? exchange.progress
    if (progress && !change.quiet) request.progress = progress
    if (change.tasks) request.tasks = true
    if (session) request.session = session
    if (face.side === 'older') request.older = true
    const modern = exchange.modern?.()
    if (modern) request.modern = modernOf(modern, change)
    if (exchange.passthroughHeaders) request.passthroughHeaders = wantedHeaders(member, exchange.passthroughHeaders)
    // A task that the hub runs ends with a result in the usual form.
    if (exchange.plainFailures && change.method !== 'tasks/get') request.asWritten = true
    return this.#filtered(routed, target, request, change)
  }

  #filtered(
    { exchange, scope, passed }: Routed,
    target: SentTo,
    request: UpstreamRequest,
    { method }: Change,
  ): UpstreamCall {
    const { upstreams } = this.#parts
    const serverId = target.member.server.id
    // Other requests of the call have parameters of their own.
    const before = method === undefined ? passed : undefined
    const filtered = before?.filters ?? this.#filtersOf(exchange, scope, target)
    return filtered
      ? filtered.begin(request, one => upstreams.request(serverId, one), before)
      : upstreams.request(serverId, request)
  }

  #noteElicitations(exchange: Exchange, member: ScopeMember, error: RpcError): void {
    if (error.code !== URL_ELICITATION_REQUIRED || !exchange.session || !isPlainObject(error.data)) return
    const list = error.data.elicitations
    if (!Array.isArray(list)) return
    for (const item of list)
      if (isPlainObject(item) && typeof item.elicitationId === 'string')
        this.#parts.recordUrlElicitation(exchange.session.id, member.server.id, item.elicitationId)
  }
}

/** The caller's answers belong to its own request, not to those that the hub sends for it. */
function modernOf(modern: NonNullable<UpstreamRequest['modern']>, { method }: Change): typeof modern {
  if (method === undefined) return modern
  const { capabilities, logLevel } = modern
  return { capabilities, ...(logLevel === undefined ? {} : { logLevel }) }
}

function toFailed(thrown: unknown): Failed {
  const { code, message } = asHubError(thrown)
  return { kind: 'failed', code, message }
}
