import type { Failed, RpcError, SessionBinding, UpstreamReply, UpstreamRequest, Upstreams } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { McpMiddleware } from '../contract/points.ts'
import type { ToolCallRecord } from '../contract/records.ts'
import { connectionKey } from '../domain/session-scope.ts'
import { shapeArguments } from '../domain/tool-shape.ts'
import { memberHas } from './capabilities.ts'
import type { Exchange, Outcome } from './exchange.ts'
import type { Target } from './merge.ts'
import { matchingMiddlewares, runMiddlewares } from './middleware-chain.ts'
import { nearNames } from './naming.ts'
import { READ_RESULT } from './read-result.ts'
import { completionTarget, exposeErrorUri, exposeUris, type OwnUri, resourceTarget } from './resource-targets.ts'
import type { ResultBudget } from './result-budget.ts'
import { invalid, isPlainObject } from './rpc.ts'
import type { Scope } from './scope.ts'
import type { ScopeMember } from './scope-types.ts'

/** What one request needs besides its own contents. */
export interface Routed {
  readonly exchange: Exchange
  readonly scope: Scope
}

/** Methods that the router leaves to others: lists, and what lasts longer than one request. */
export type MethodHandler = (routed: Routed, params: JsonObject | undefined) => Outcome | Promise<Outcome>

interface RouterParts {
  readonly upstreams: Upstreams
  readonly middlewares: () => readonly McpMiddleware[]
  readonly recordCall: (record: ToolCallRecord) => void
  readonly now: () => number
  readonly results: ResultBudget
  /**
   * A notification that came on the stream of a call; true when it was no matter of that call alone. `connection`: the key
   * of the one it came by, undefined for the shared one.
   */
  readonly sharedNotice: (
    serverId: string,
    connection: string | undefined,
    method: string,
    params: JsonObject | undefined,
  ) => boolean
  /** An upstream answered with URL elicitations, whose completion it will tell later. */
  readonly sawElicitation: (sessionId: string, serverId: string, elicitationId: string) => void
}

const URL_ELICITATION_REQUIRED = -32042
/** What these mean depends on the lists of members. The lists themselves wait for those, however well known an item is. */
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

/** Exposed names to upstreams and results back. One table of methods, whatever wire a request came by. */
export class Router {
  readonly #parts: RouterParts
  readonly #methods: ReadonlyMap<string, MethodHandler>

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

  /** What comes of a request. Throws HubError for what the hub itself refuses; upstream errors are outcomes. */
  handle(exchange: Exchange, scope: Scope): Outcome | Promise<Outcome> {
    const handler = this.#methods.get(exchange.method)
    if (!handler) throw new HubError('method_not_found', `The hub has no method "${exchange.method.slice(0, 64)}"`)
    const routed = { exchange, scope }
    const all = this.#parts.middlewares()
    if (all.length > 0) {
      const matching = matchingMiddlewares(all, exchange.method)
      if (matching.length > 0)
        return runMiddlewares(matching, exchange, async params => whenRead(handler, routed, params))
    }
    return whenRead(handler, routed, exchange.params)
  }

  /** Sends a request to one member; `finish` turns its reply into the outcome. */
  forward(
    routed: Routed,
    target: Pick<Target, 'member' | 'variablesIn'>,
    params: JsonObject | undefined,
    finish: (reply: UpstreamReply) => Outcome,
  ): Promise<Outcome> {
    const { exchange, scope } = routed
    const entered = exchange.enter?.(scope, target.member)
    if (entered instanceof Promise)
      return entered.then(session => this.#send(routed, target, session, params).then(finish))
    return this.#send(routed, target, entered ?? exchange.session, params).then(finish)
  }

  /** A reply as an outcome: results and upstream errors unchanged, but for the URIs that have another form in this scope. */
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
        return { kind: 'failed', error: failureOf(reply) }
      case 'cancelled':
        return { kind: 'cancelled' }
    }
  }

  #send(
    { exchange, scope }: Routed,
    { member, variablesIn }: Pick<Target, 'member' | 'variablesIn'>,
    session: SessionBinding | undefined,
    params: JsonObject | undefined,
  ): Promise<UpstreamReply> {
    const serverId = member.server.id
    const connection = connectionKey(member.server, session, scope.era(serverId))
    const request: { -readonly [Key in keyof UpstreamRequest]: UpstreamRequest[Key] } = {
      method: exchange.method,
      params,
      notification: (method, body) => {
        if (!this.#parts.sharedNotice(serverId, connection, method, body)) exchange.notify(method, body)
      },
      ask: exchange.ask,
    }
    if (variablesIn) request.variablesIn = variablesIn
    if (exchange.progress) request.progress = exchange.progress
    if (session) request.session = session
    const modern = exchange.modern?.()
    if (modern) request.modern = modern
    if (exchange.passthroughHeaders && scope.resolved.passthroughHeaders.length > 0)
      request.passthroughHeaders = wantedHeaders(member, exchange.passthroughHeaders)
    const call = this.#parts.upstreams.request(serverId, request)
    exchange.cancel = reason => call.cancel(reason)
    return call.reply
  }

  #callTool(routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const { exchange, scope } = routed
    const name = params?.name
    if (typeof name !== 'string') throw invalid('tools/call needs "name", the name of a tool')
    // Before any other: whoever reads on must not be sent elsewhere, under an old name of a tool neither.
    if (name === READ_RESULT && scope.resolved.group.resultLimitBytes !== undefined) return this.#readOn(scope, params)
    const target = scope.tool(name)
    if (!target) throw unknownName('tool', name, scope.catalog.tools.keys())
    if (params?.arguments !== undefined && !isPlainObject(params.arguments))
      throw invalid(`tools/call of "${name}" needs "arguments" to be an object`)
    const startedMs = this.#parts.now()
    if (target.blocked) throw approvalRequired(name)
    const sent = toolParams(params ?? {}, target)
    return this.forward(routed, target, sent, reply => {
      const { server } = target.member
      const endedMs = this.#parts.now()
      const outcome = this.outcome(routed, target.member, reply)
      // Not over yet: its retry is what counts.
      if (outcome.kind === 'input_required') return outcome
      this.#parts.recordCall({
        at: new Date(startedMs).toISOString(),
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
      return this.#fitted(routed, outcome)
    })
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
    if (!target) throw unknownName('prompt', name, routed.scope.catalog.prompts.keys())
    return this.#forwardPlain(routed, target, { ...params, name: target.original })
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
      this.#fitted(routed, this.outcome(routed, target.member, reply, own)),
    )
  }

  /** A result within the limit of its group. */
  #fitted({ exchange, scope }: Routed, outcome: Outcome): Outcome {
    const { resultLimitBytes } = scope.resolved.group
    if (resultLimitBytes === undefined || outcome.kind !== 'result') return outcome
    const resultText = this.#parts.results.fit(exchange.method, outcome.resultText, resultLimitBytes, scope)
    return { kind: 'result', resultText }
  }

  #noteElicitations(exchange: Exchange, member: ScopeMember, error: RpcError): void {
    if (error.code !== URL_ELICITATION_REQUIRED || !exchange.session || !isPlainObject(error.data)) return
    const list = error.data.elicitations
    if (!Array.isArray(list)) return
    for (const item of list)
      if (isPlainObject(item) && typeof item.elicitationId === 'string')
        this.#parts.sawElicitation(exchange.session.id, member.server.id, item.elicitationId)
  }
}

/** What the first lists of a member may hold is not refused while they are being read. */
function whenRead(handler: MethodHandler, routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
  const { exchange, scope } = routed
  const reading = BY_LISTS.has(exchange.method) && !isListed(scope, exchange.method, params) ? scope.ready() : undefined
  return reading === undefined ? handler(routed, params) : reading.then(() => handler(routed, params))
}

function isListed({ catalog }: Scope, method: string, params: JsonObject | undefined): boolean {
  const name = params?.name
  if (typeof name !== 'string') return false
  return (method === 'tools/call' && catalog.tools.has(name)) || (method === 'prompts/get' && catalog.prompts.has(name))
}

function unknownName(kind: 'tool' | 'prompt', name: string, known: Iterable<string>): HubError {
  const near = nearNames(name, known)
  const hint = near.length > 0 ? { hint: `Did you mean ${near.map(text => `"${text}"`).join(' or ')}?` } : {}
  return new HubError(`${kind}_not_found`, `There is no ${kind} "${name.slice(0, 64)}" here`, hint)
}

/** Task augmentation is left off: the hub does not offer tasks, and without that offer it has no meaning. */
function toolParams(params: JsonObject, { original, rules }: Target): JsonObject {
  if (params.task === undefined && !rules) return params.name === original ? params : { ...params, name: original }
  const { task: _, ...rest } = params
  if (!rules) return { ...rest, name: original }
  const given = isPlainObject(params.arguments) ? params.arguments : undefined
  return { ...rest, name: original, arguments: shapeArguments(given, rules) }
}

function approvalRequired(name: string): HubError {
  return new HubError('approval_required', `The tool "${name}" changed, and waits for the approval of its owner`)
}

function wantedHeaders(
  member: ScopeMember,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const wanted: Record<string, string> = {}
  for (const name of member.server.passthroughHeaders) {
    const value = headers[name.toLowerCase()]
    if (value !== undefined) wanted[name.toLowerCase()] = value
  }
  return wanted
}

function failureOf({ code, message, retryAfterSeconds }: Failed): HubError {
  return new HubError(code, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })
}

function callStatus(reply: UpstreamReply): string {
  if (reply.kind === 'result') return reply.isError ? 'error' : 'success'
  return reply.kind === 'failed' ? reply.code : reply.kind
}
