import type { UpstreamReply } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { McpMiddleware } from '../../contract/points.ts'
import type { ToolCallRecord } from '../../contract/records.ts'
import { meantHint, suggestNames } from '../../domain/nearest.ts'
import { keyIdOf } from '../../domain/ownership.ts'
import { TimeTexts } from '../../domain/timestamp.ts'
import type { RefusedCall } from '../../telemetry/log.ts'
import type { CallTracer } from '../../telemetry/traces.ts'
import type { Refusals } from '../rpc/refusals.ts'
import { invalid, isPlainObject } from '../rpc/rpc.ts'
import { memberHas } from '../scope/capabilities.ts'
import type { Target } from '../scope/merge.ts'
import { completionTarget, type OwnUri, resourceTarget } from '../scope/resource-targets.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget } from '../scope/scope-types.ts'
import { callAddedTool, innerCall, shortened } from './added-tools.ts'
import { EVERY_CAPABILITY, needsAsking } from './asked-clients.ts'
import type { Exchange, Outcome } from './exchange.ts'
import type { Forwarder, Routed } from './forwarder.ts'
import { matchingMiddlewares, runMiddlewares } from './middleware-chain.ts'
import { type CallerOf, refusedCall } from './refused-calls.ts'
import { sentName, toolParams, traced, withoutNullArguments } from './sent-params.ts'
import { failureForModel } from './tool-failure.ts'

/** A handler of a method outside the router: lists, and what outlasts one request. */
export type MethodHandler = (routed: Routed, params: JsonObject | undefined) => Outcome | Promise<Outcome>

/** Sends tool calls that can be tasks, or whose callers want them as tasks. */
interface TaskCalls {
  call(routed: Routed, target: Target, params: JsonObject, finish: (reply: UpstreamReply) => Outcome): Promise<Outcome>
}

interface RouterParts {
  readonly forwarder: Forwarder
  readonly middlewares: () => readonly McpMiddleware[]
  readonly recordCall: (record: ToolCallRecord) => void
  readonly recordRefusal?: ((call: RefusedCall) => void) | undefined
  readonly now: () => number
  readonly refusals: Refusals
  readonly tasks: TaskCalls
  readonly tracer?: CallTracer | undefined
}

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
      ['tools/call', (routed, params) => this.#recordingRefusal(routed, params)],
      ['prompts/get', (routed, params) => this.#getPrompt(routed, params)],
      ['resources/read', (routed, params) => this.#readResource(routed, params)],
      ['completion/complete', (routed, params) => this.#complete(routed, params)],
      ['ping', () => EMPTY],
      ...Object.entries(others),
    ])
  }

  /** Whether the hub knows a method. */
  has(method: string): boolean {
    return this.#methods.has(method)
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
    if (exchange.method !== 'tools/call') return this.#dispatch(handler, { exchange, scope }, exchange.params)
    const inner = innerCall(exchange, scope)
    return this.#dispatch(
      handler,
      inner ? { exchange, scope, inner: true } : { exchange, scope },
      inner ?? exchange.params,
    )
  }

  #dispatch(handler: MethodHandler, routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const all = this.#parts.middlewares()
    if (all.length > 0) {
      const matching = matchingMiddlewares(all, routed.exchange.method)
      if (matching.length > 0)
        return this.#throughMiddlewares(matching, handler, { ...routed, truncatedLater: true }, params)
    }
    return this.#awaitCatalogs(handler, routed, params)
  }

  /** Middlewares see results as their servers sent them; the final result is truncated to the group's limit. */
  async #throughMiddlewares(
    matching: readonly McpMiddleware[],
    handler: MethodHandler,
    routed: Routed,
    given: JsonObject | undefined,
  ): Promise<Outcome> {
    const { exchange, scope } = routed
    const outcome = await runMiddlewares(matching, exchange, given, async params =>
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

  /** Records a tools/call that is refused before it comes here, as for a quota; other methods have no record. */
  refused(
    caller: CallerOf,
    group: Parameters<typeof refusedCall>[1],
    method: string,
    params: JsonObject | undefined,
    error: unknown,
  ): void {
    if (method === 'tools/call') this.#parts.recordRefusal?.(refusedCall(caller, group, params, error, 0))
  }

  #recordingRefusal(routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const { recordRefusal, now } = this.#parts
    const { exchange, scope } = routed
    const startedMs = now()
    try {
      return this.#callTool(routed, params)
    } catch (error) {
      recordRefusal?.(refusedCall(exchange, scope.resolved.group, params, error, now() - startedMs))
      throw error
    }
  }

  #callTool(routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const { exchange, scope } = routed
    const name = params?.name
    if (typeof name !== 'string') throw invalid('tools/call needs "name", the name of a tool')
    // Checked first: the call must never reach another tool, not even by an old name.
    const added = routed.inner ? undefined : scope.catalog.added.sets.get(name)
    if (added) return callAddedTool(added, name, params, routed)
    const target = scope.tool(name, exchange.capabilities)
    if (!target) throw this.#unknownName(routed, 'tool', name)
    const sentArguments = params?.arguments
    if (sentArguments !== undefined && sentArguments !== null && !isPlainObject(sentArguments))
      throw invalid(`tools/call of "${name}" needs "arguments" to be an object`)
    const startedMs = this.#parts.now()
    if (target.blocked) throw approvalRequired(name)
    const trace = this.#parts.tracer?.begin({
      ...{ tool: target.original, server: target.member.server.name, group: scope.resolved.group.name },
      ...{ requestId: exchange.requestId, meta: params?._meta },
    })
    const sent = traced(toolParams(params ?? {}, target), trace)
    const finish = (reply: UpstreamReply): Outcome => {
      const { server } = target.member
      const endedMs = this.#parts.now()
      const outcome = this.#parts.forwarder.outcome(routed, target.member, reply)
      const status = callStatus(reply)
      trace?.end(status)
      // Not finished: the retry is recorded.
      if (outcome.kind === 'input_required') return outcome
      this.#parts.recordCall({
        at: this.#times.of(startedMs),
        requestId: exchange.requestId,
        client: exchange.clientAddress,
        clientName: exchange.clientName,
        userId: exchange.actor.userId,
        userName: exchange.actor.name,
        ownerId: server.ownerId,
        serverId: server.id,
        server: server.name,
        group: scope.resolved.group.name,
        groupId: scope.resolved.group.id,
        tool: target.original,
        durationMs: endedMs - startedMs,
        status,
        traceId: trace?.traceId,
        keyId: keyIdOf(exchange.actor),
      })
      return this.#truncated(
        routed,
        target,
        failureForModel(exchange, () => scope.face(server.id), outcome),
      )
    }
    if (!target.task && sent.task === undefined) return this.#parts.forwarder.forward(routed, target, sent, finish)
    return this.#parts.tasks.call(routed, target, sent, finish)
  }

  #unknownName({ exchange, scope }: Routed, kind: 'tool' | 'prompt', name: string): HubError {
    const { tools, prompts } = scope.catalogFor(exchange.capabilities)
    const known = kind === 'tool' ? tools : prompts
    if (kind === 'tool' && scope.catalogFor(EVERY_CAPABILITY).tools.has(name)) return needsAsking(name)
    const near = this.#parts.refusals.exhausted(exchange.actor.userId) ? [] : suggestNames(name, known.keys())
    return new HubError(`${kind}_not_found`, `There is no ${kind} "${name.slice(0, 64)}" here`, meantHint(near))
  }

  #getPrompt(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const name = params?.name
    if (typeof name !== 'string') throw invalid('prompts/get needs "name", the name of a prompt')
    const target = routed.scope.prompt(name)
    if (!target) throw this.#unknownName(routed, 'prompt', name)
    return this.#forwardPlain(routed, target, { ...withoutNullArguments(params ?? {}), name: sentName(target) })
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
    return this.#parts.forwarder.forward(routed, target, params, reply =>
      this.#truncated(routed, target, this.#parts.forwarder.outcome(routed, target.member, reply, own)),
    )
  }

  /** A result shortened to its group's limit. */
  #truncated({ exchange, scope, truncatedLater }: Routed, target: ExchangeTarget, outcome: Outcome): Outcome {
    const { resultLimitBytes } = scope.resolved.group
    if (resultLimitBytes === undefined || truncatedLater || outcome.kind !== 'result') return outcome
    return shortened(exchange, scope, target, outcome, resultLimitBytes)
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

function callStatus(reply: UpstreamReply): string {
  if (reply.kind === 'result') return reply.isError ? 'error' : 'success'
  return reply.kind === 'failed' ? reply.code : reply.kind
}
