import type {
  Failed,
  RpcError,
  SessionBinding,
  UpstreamCall,
  UpstreamReply,
  UpstreamRequest,
  Upstreams,
} from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { McpMiddleware } from '../../contract/points.ts'
import type { ToolCallRecord } from '../../contract/records.ts'
import { meantHint, suggestNames } from '../../domain/nearest.ts'
import { connectionKey } from '../../domain/session-scope.ts'
import { TimeTexts } from '../../domain/timestamp.ts'
import { READ_RESULT } from '../rpc/read-result.ts'
import type { Refusals } from '../rpc/refusals.ts'
import { asHubError, invalid, isPlainObject } from '../rpc/rpc.ts'
import { accessLost } from '../scope/access-lost.ts'
import { memberHas } from '../scope/capabilities.ts'
import type { Target } from '../scope/merge.ts'
import { completionTarget, exposeErrorUri, exposeUris, type OwnUri, resourceTarget } from '../scope/resource-targets.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget, ScopeMember } from '../scope/scope-types.ts'
import { EVERY_CAPABILITY, lookedAtFor, needsAsking } from './asked-clients.ts'
import type { Exchange, Outcome } from './exchange.ts'
import { matchingMiddlewares, runMiddlewares } from './middleware-chain.ts'
import type { ResultBudget } from './result-budget.ts'
import { seenFailure } from './seen-failure.ts'
import { toolParams, wantedHeaders, withoutNullArguments } from './sent-params.ts'
import type { Begin, Change } from './task-run.ts'
import { failureForModel } from './tool-failure.ts'

/** One request with its scope. */
export interface Routed {
  readonly exchange: Exchange
  readonly scope: Scope
  /** The result is truncated to its group's limit later, since middlewares may change it. */
  readonly truncatedLater?: true
}

/** A handler of a method outside the router: lists, and what outlasts one request. */
export type MethodHandler = (routed: Routed, params: JsonObject | undefined) => Outcome | Promise<Outcome>

/** Sends tool calls that can be tasks, or whose callers want them as tasks. */
interface TaskCalls {
  call(
    router: Router,
    routed: Routed,
    target: Target,
    params: JsonObject,
    finish: (reply: UpstreamReply) => Outcome,
  ): Promise<Outcome>
}

interface RouterParts {
  readonly upstreams: Upstreams
  readonly middlewares: () => readonly McpMiddleware[]
  readonly recordCall: (record: ToolCallRecord) => void
  readonly now: () => number
  readonly results: ResultBudget
  /** Resolves a scope again; it is gone afterwards if it resolves to nothing. Rejects when the store fails. */
  readonly refresh: (scope: Scope) => Promise<unknown>
  readonly refusals: Refusals
  readonly tasks: TaskCalls
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
  /** Records a URL elicitation in an upstream's error; the upstream notifies of its completion later. */
  readonly recordUrlElicitation: (sessionId: string, serverId: string, elicitationId: string) => void
}

type Work = (begin: Begin) => Promise<UpstreamReply>
type SentTo = Pick<Target, 'member' | 'variablesIn'> & { readonly original?: string }

const URL_ELICITATION_REQUIRED = -32042
/** Methods whose meaning depends on the members' lists. The lists themselves always wait for those. */
const BY_LISTS: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
])
const EMPTY: Outcome = { kind: 'result', resultText: '{}' }

/** Resolves exposed names, sends requests, converts replies. One table of methods for all eras and transports. */
export class Router {
  readonly #parts: RouterParts
  readonly #methods: ReadonlyMap<string, MethodHandler>
  readonly #times = new TimeTexts()

  /** `others`: handlers of methods that this class does not have. */
  constructor(parts: RouterParts, others: Readonly<Record<string, MethodHandler>>) {
    this.#parts = parts
    this.#methods = new Map<string, MethodHandler>([
      ['tools/call', (routed, params) => this.#callTool(routed, params)],
      ['prompts/get', (routed, params) => this.#getPrompt(routed, params)],
      ['resources/read', (routed, params) => this.#readResource(routed, params)],
      ['completion/complete', (routed, params) => this.#complete(routed, params)],
      ['ping', () => EMPTY],
      ...Object.entries(others),
    ])
  }

  /** Dispatches a request. Throws HubError for what the hub itself rejects; upstream errors are outcomes. */
  handle(exchange: Exchange, scope: Scope): Outcome | Promise<Outcome> {
    try {
      return this.#handle(exchange, scope)
    } catch (error) {
      throw this.#parts.refusals.answerTo(exchange.actor.userId, error)
    }
  }

  #handle(exchange: Exchange, scope: Scope): Outcome | Promise<Outcome> {
    const handler = this.#methods.get(exchange.method)
    if (!handler) throw new HubError('method_not_found', `The hub has no method "${exchange.method.slice(0, 64)}"`)
    const routed = { exchange, scope }
    const all = this.#parts.middlewares()
    if (all.length > 0) {
      const matching = matchingMiddlewares(all, exchange.method)
      if (matching.length > 0) return this.#throughMiddlewares(matching, handler, { ...routed, truncatedLater: true })
    }
    return this.#awaitCatalogs(handler, routed, exchange.params)
  }

  /** Middlewares see results as their servers sent them; the final result is truncated to the group's limit. */
  async #throughMiddlewares(
    matching: readonly McpMiddleware[],
    handler: MethodHandler,
    routed: Routed,
  ): Promise<Outcome> {
    const { exchange, scope } = routed
    const outcome = await runMiddlewares(matching, exchange, async params =>
      this.#awaitCatalogs(handler, routed, params),
    )
    const { target } = exchange
    return target ? this.#truncated({ exchange, scope }, target, outcome) : outcome
  }

  /** Waits for members' first lists before a name in them could be rejected as unknown. */
  #awaitCatalogs(handler: MethodHandler, routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const { exchange, scope } = routed
    const waits = BY_LISTS.has(exchange.method) && !isListed(scope, exchange, params)
    const reading = waits ? scope.ready(exchange.capabilities) : undefined
    if (reading === undefined) return handler(routed, params)
    return reading
      .then(() => handler(routed, params))
      .catch(error => {
        throw this.#parts.refusals.answerTo(exchange.actor.userId, error)
      })
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
    const looking = lookedAtFor(exchange, scope, target.member)
    if (looking !== undefined) return looking.then(() => this.#forward(routed, target, params, finish, work))
    return this.#forward(routed, target, params, finish, work)
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
    const entered = exchange.enter?.(scope, target.member)
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
    const { exchange, scope } = routed
    try {
      while (scope.stale && !scope.gone) await this.#parts.refresh(scope)
    } catch (error) {
      // Fails closed, with the store's own error if that was the cause.
      if (!scope.gone) return finish(toFailed(error))
    }
    return scope.permits(exchange.method, target) ? finish(reply) : finish(toFailed(accessLost(scope, exchange.method)))
  }

  /** Converts a reply: results and upstream errors unchanged, except for URIs with another form in this scope. */
  outcome({ exchange, scope }: Routed, member: ScopeMember, reply: UpstreamReply, own?: OwnUri): Outcome {
    switch (reply.kind) {
      case 'result':
        return { kind: 'result', resultText: exposeUris(scope, member, reply.text, own) }
      case 'input_required':
        return { kind: 'input_required', resultText: reply.text }
      case 'error':
        this.#noteElicitations(exchange, member, reply.error)
        return { kind: 'error', error: exposeErrorUri(scope, member, reply.error, own) }
      case 'failed':
        return { kind: 'failed', error: seenFailure(reply, exchange.actor, member.server, this.#parts.upstreams) }
      case 'cancelled':
        return { kind: 'cancelled' }
    }
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
    { exchange, scope }: Routed,
    { member, variablesIn }: SentTo,
    session: SessionBinding | undefined,
    params: JsonObject | undefined,
    change: Change = {},
  ): UpstreamCall {
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
    if (exchange.progress && !change.quiet) request.progress = exchange.progress
    if (session) request.session = session
    if (face.side === 'older') request.older = true
    const modern = exchange.modern?.()
    if (modern) request.modern = modern
    if (exchange.passthroughHeaders) request.passthroughHeaders = wantedHeaders(member, exchange.passthroughHeaders)
    return this.#parts.upstreams.request(serverId, request)
  }

  #callTool(routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const { exchange, scope } = routed
    const name = params?.name
    if (typeof name !== 'string') throw invalid('tools/call needs "name", the name of a tool')
    // Checked first: the call must never reach another tool, not even by an old name.
    if (name === READ_RESULT && scope.resolved.group.resultLimitBytes !== undefined) return this.#readOn(scope, params)
    const target = scope.tool(name, exchange.capabilities)
    if (!target) throw this.#unknownName(routed, 'tool', name)
    const sentArguments = params?.arguments
    if (sentArguments !== undefined && sentArguments !== null && !isPlainObject(sentArguments))
      throw invalid(`tools/call of "${name}" needs "arguments" to be an object`)
    const startedMs = this.#parts.now()
    if (target.blocked) throw approvalRequired(name)
    const sent = toolParams(params ?? {}, target)
    const finish = (reply: UpstreamReply): Outcome => {
      const { server } = target.member
      const endedMs = this.#parts.now()
      const outcome = this.outcome(routed, target.member, reply)
      // Not finished: the retry is recorded.
      if (outcome.kind === 'input_required') return outcome
      this.#parts.recordCall({
        at: this.#times.of(startedMs),
        requestId: exchange.requestId,
        userId: exchange.actor.userId,
        userName: exchange.actor.name,
        ownerId: server.ownerId,
        serverId: server.id,
        server: server.name,
        group: scope.resolved.group.name,
        tool: target.original,
        durationMs: endedMs - startedMs,
        status: callStatus(reply),
      })
      return this.#truncated(routed, target, failureForModel(exchange, server, outcome))
    }
    if (!target.task && sent.task === undefined) return this.forward(routed, target, sent, finish)
    return this.#parts.tasks.call(this, routed, target, sent, finish)
  }

  #unknownName({ exchange, scope }: Routed, kind: 'tool' | 'prompt', name: string): HubError {
    const { tools, prompts } = scope.catalogFor(exchange.capabilities)
    const known = kind === 'tool' ? tools : prompts
    if (kind === 'tool' && scope.catalogFor(EVERY_CAPABILITY).tools.has(name)) return needsAsking(name)
    const near = this.#parts.refusals.exhausted(exchange.actor.userId) ? [] : suggestNames(name, known.keys())
    return new HubError(`${kind}_not_found`, `There is no ${kind} "${name.slice(0, 64)}" here`, meantHint(near))
  }

  #readOn(scope: Scope, params: JsonObject | undefined): Outcome {
    const handle = isPlainObject(params?.arguments) ? params.arguments.handle : undefined
    const maxBytes = scope.resolved.group.resultLimitBytes ?? 0
    return { kind: 'result', resultText: this.#parts.results.read(handle, maxBytes, scope) }
  }

  #getPrompt(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const name = params?.name
    if (typeof name !== 'string') throw invalid('prompts/get needs "name", the name of a prompt')
    const target = routed.scope.prompt(name)
    if (!target) throw this.#unknownName(routed, 'prompt', name)
    return this.#forwardPlain(routed, target, { ...withoutNullArguments(params ?? {}), name: target.original })
  }

  #readResource(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const uri = params?.uri
    if (typeof uri !== 'string') throw invalid('resources/read needs "uri", the URI of a resource')
    const target = resourceTarget(routed.scope, uri)
    return this.#forwardPlain(routed, target, { ...params, uri: target.original }, { original: target.original, uri })
  }

  #complete(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const ref = params?.ref
    if (!isPlainObject(ref)) throw invalid('completion/complete needs "ref", a prompt or a resource')
    const { target, original } = completionTarget(routed.scope, ref)
    if (!memberHas(routed.scope.catalog.byServer.get(target.member.server.id), 'completions'))
      throw new HubError('method_not_found', `The server of this ${String(ref.type)} offers no completion`)
    return this.#forwardPlain(routed, target, { ...params, ref: original })
  }

  #forwardPlain(routed: Routed, target: Target, params: JsonObject, own?: OwnUri): Promise<Outcome> {
    return this.forward(routed, target, params, reply =>
      this.#truncated(routed, target, this.outcome(routed, target.member, reply, own)),
    )
  }

  /** A result truncated to its group's limit. */
  #truncated({ exchange, scope, truncatedLater }: Routed, target: ExchangeTarget, outcome: Outcome): Outcome {
    const { resultLimitBytes } = scope.resolved.group
    if (resultLimitBytes === undefined || truncatedLater || outcome.kind !== 'result') return outcome
    const resultText = this.#parts.results.truncate(
      exchange.method,
      outcome.resultText,
      resultLimitBytes,
      scope,
      target,
    )
    return { kind: 'result', resultText }
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

function isListed(scope: Scope, { method, capabilities }: Exchange, params: JsonObject | undefined): boolean {
  const name = params?.name
  if (typeof name !== 'string') return false
  const catalog = scope.catalogFor(capabilities)
  return (method === 'tools/call' && catalog.tools.has(name)) || (method === 'prompts/get' && catalog.prompts.has(name))
}

function approvalRequired(name: string): HubError {
  return new HubError('approval_required', `The tool "${name}" changed, and waits for the approval of its owner`)
}

function toFailed(thrown: unknown): Failed {
  const { code, message } = asHubError(thrown)
  return { kind: 'failed', code, message }
}

function callStatus(reply: UpstreamReply): string {
  if (reply.kind === 'result') return reply.isError ? 'error' : 'success'
  return reply.kind === 'failed' ? reply.code : reply.kind
}
