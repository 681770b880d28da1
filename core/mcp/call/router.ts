import type { UpstreamReply } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { McpMiddleware } from '../../contract/points.ts'
import type { CallTracer } from '../../features/tracing.ts'
import type { EndedCall } from '../../telemetry/calls/ended-call.ts'
import type { CallGates } from '../gates/call-gates.ts'
import type { Refusals } from '../rpc/refusals.ts'
import { invalid, isPlainObject } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'
import type { Target } from '../scope/scope-types.ts'
import { signInAnswer } from '../scope/sign-ins.ts'
import { refusalWithOthers, type Selection, selection, withOthers } from '../selection/selection.ts'
import { callAddedTool, innerCall } from './added-tools.ts'
import { dependsOnLists } from './asked-clients.ts'
import {
  answeredWith,
  type CalledGroup,
  type CallerOf,
  CallRecords,
  callStatus,
  failedWith,
  type HeldRecord,
  type UnsentEnd,
} from './call-records.ts'
import type { Exchange, Outcome } from './exchange.ts'
import type { Forwarder, Routed } from './forwarder.ts'
import { ItemRequests, truncated } from './item-requests.ts'
import { type MiddlewareTrace, type MiddlewareWatch, matchingMiddlewares, runMiddlewares } from './middleware-chain.ts'
import { middlewareContext } from './middleware-context.ts'
import { blockedBy, type CallEnd, outsideOf, withSkipped } from './middleware-records.ts'
import { toolParams, traced } from './sent-params.ts'
import { withStructure } from './structured-result.ts'
import { approvalRequired, failureForModel, unknownName } from './tool-failure.ts'
import { throughGates } from './tool-gates.ts'
import { ViewCalls } from './view-calls.ts'

/** A handler of a method outside the router: lists, and what outlasts one request. */
export type MethodHandler = (routed: Routed, params: JsonObject | undefined) => Outcome | Promise<Outcome>

/** Sends tool calls that can be tasks, or whose callers want them as tasks. */
interface TaskCalls {
  call(routed: Routed, target: Target, params: JsonObject, finish: (reply: UpstreamReply) => Outcome): Promise<Outcome>
}

interface RouterParts {
  readonly forwarder: Forwarder
  readonly middlewares: () => readonly McpMiddleware[]
  readonly watch: MiddlewareWatch
  /** Called once for each tools/call that ended. */
  readonly recordCall: (call: EndedCall) => void
  readonly now: () => number
  readonly refusals: Refusals
  readonly tasks: TaskCalls
  readonly tracer?: Pick<CallTracer, 'begin'> | undefined
  readonly gates: CallGates
}

const EMPTY: Outcome = { kind: 'result', resultText: '{}' }

/** Resolves exposed names, sends requests, converts replies. One table of methods for all eras and transports. */
export class Router {
  readonly #parts: RouterParts
  readonly #methods: ReadonlyMap<string, MethodHandler>
  readonly #records: CallRecords
  readonly #views = new ViewCalls()

  /** `others`: handlers of methods that this class does not have. */
  constructor(parts: RouterParts, others: Readonly<Record<string, MethodHandler>>) {
    this.#parts = parts
    this.#records = new CallRecords(parts.recordCall)
    const items = new ItemRequests(parts, this.#views)
    this.#methods = new Map<string, MethodHandler>([
      ['tools/call', (routed, params) => this.#recordedCall(routed, params)],
      ['prompts/get', (routed, params) => items.prompt(routed, params)],
      ['resources/read', (routed, params) => items.resource(routed, params)],
      ['completion/complete', (routed, params) => items.completion(routed, params)],
      ['ping', () => EMPTY],
      ...Object.entries(others),
    ])
  }

  /** True when the hub knows a method. */
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
    const isCall = exchange.method === 'tools/call'
    const held: HeldRecord = {}
    const trace: MiddlewareTrace = { skipped: new Set() }
    const startedMs = this.#parts.now()
    // The server of a request is known only with the lists. The dispatched request reports a failure.
    await this.#reading(routed, given)?.catch(() => undefined)
    const context = (params: JsonObject | undefined) => middlewareContext(routed, params)
    const run = { exchange, given, trace, watch: this.#parts.watch, context }
    const record = (end: CallEnd): void => {
      if (!isCall) return
      const { call } = held
      if (call) this.#records.release(withSkipped(call, trace), blockedBy(trace, end))
      else this.#recordUnsent(routed, given, startedMs, { ...end, ...outsideOf(routed, given, trace) })
    }
    let outcome: Outcome
    try {
      const inside = isCall ? { ...routed, held } : routed
      const dispatch = async (params: JsonObject | undefined) => this.#awaitCatalogs(handler, inside, params)
      const end = await runMiddlewares(matching, dispatch, run)
      outcome = end.outcome
      // A request for input is not the end: the retry is recorded.
      if (outcome.kind !== 'input_required') record(answeredWith(outcome, end.isError))
    } catch (error) {
      record(failedWith(error))
      throw error
    }
    const { target } = exchange
    return target ? truncated({ exchange, scope }, target, outcome) : outcome
  }

  /** The first lists of members, where a name in the parameters cannot be judged without them. */
  #reading({ exchange, scope }: Routed, params: JsonObject | undefined): Promise<unknown> | undefined {
    return dependsOnLists(exchange, scope, params) ? scope.ready(exchange.capabilities) : undefined
  }

  /** Waits for members' first lists before a name in them could be rejected as unknown. */
  #awaitCatalogs(handler: MethodHandler, routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const { exchange } = routed
    const reading = this.#reading(routed, params)
    if (reading === undefined) return handler(routed, params)
    return reading
      .then(() => handler(routed, params))
      .catch(error => {
        throw this.#parts.refusals.answerTo(exchange.actor.userId, error)
      })
  }

  /**
   * Records a tools/call that is refused before it comes here, as for a quota; other methods have no record. `calledServer`:
   * where a server itself was called, in place of a group.
   */
  refused(
    caller: CallerOf,
    group: CalledGroup,
    method: string,
    params: JsonObject | undefined,
    error: unknown,
    calledServer?: EndedCall['calledServer'],
  ): void {
    if (method !== 'tools/call') return
    this.#records.unsent(caller, group, params, { ...failedWith(error), calledServer }, this.#parts.now(), 0)
  }

  /** The call, which is recorded here if it fails before it is sent. */
  #recordedCall(routed: Routed, params: JsonObject | undefined): Outcome | Promise<Outcome> {
    const startedMs = this.#parts.now()
    const refused = (error: unknown): never => {
      this.#recordUnsent(routed, params, startedMs, failedWith(error))
      throw error
    }
    try {
      const outcome = this.#callTool(routed, params, startedMs)
      return outcome instanceof Promise ? outcome.catch(refused) : outcome
    } catch (error) {
      return refused(error)
    }
  }

  #recordUnsent(
    { exchange, scope, held }: Routed,
    params: JsonObject | undefined,
    startedMs: number,
    end: UnsentEnd,
  ): void {
    const { group } = scope.resolved
    this.#records.unsent(exchange, group, params, end, startedMs, this.#parts.now() - startedMs, held)
  }

  #callTool(routed: Routed, params: JsonObject | undefined, calledMs: number): Outcome | Promise<Outcome> {
    const { exchange, scope } = routed
    const name = params?.name
    if (typeof name !== 'string') throw invalid('tools/call needs "name", the name of a tool')
    // Checked first: the call must never reach another tool, not even by an old name.
    const added = routed.inner ? undefined : scope.catalog.added.sets.get(name)
    if (added)
      return callAddedTool(added, name, params, routed).then(({ outcome, isError }) => {
        this.#recordUnsent(routed, params, calledMs, answeredWith(outcome, isError))
        return outcome
      })
    const signIn = scope.catalogFor(exchange.capabilities).signIns.get(name)
    if (signIn) {
      const answer: Outcome = { kind: 'result', resultText: signInAnswer(signIn) }
      this.#recordUnsent(routed, params, calledMs, answeredWith(answer, false))
      return answer
    }
    const sentArguments = params?.arguments
    if (sentArguments !== undefined && sentArguments !== null && !isPlainObject(sentArguments))
      throw invalid(`tools/call of "${name}" needs "arguments" to be an object`)
    const chosen = this.#findTool(routed, name, params)
    const { target } = chosen
    this.#views.opened(exchange, scope, target)
    if (target.blocked) throw refusalWithOthers(scope, chosen, approvalRequired(name))
    const sent = toolParams(chosen.params ?? {}, target)
    if (!this.#parts.gates.any) return this.#sendCall(routed, chosen, params, sent)
    return throughGates(this.#parts.gates, this.#parts.forwarder, {
      ...{ routed, target, sent, params: chosen.params ?? {} },
      find: () => this.#findTool(routed, name, params).target,
      send: passed => {
        const shaped = passed && 'params' in passed ? passed.params : sent
        return this.#sendCall({ ...routed, passed }, chosen, params, shaped)
      },
      again: () => this.#callTool(routed, params, calledMs),
      denied: error => this.#recordUnsent(routed, params, calledMs, failedWith(error)),
    })
  }

  /** The target of a call. Throws `tool_not_found`, and what `selection` throws. */
  #findTool(routed: Routed, name: string, params: JsonObject | undefined): Selection {
    const { exchange, scope } = routed
    const target =
      scope.tool(name, exchange.capabilities) ?? (routed.inner ? undefined : this.#views.tool(exchange, scope, name))
    // A tool set acts for a model.
    if (!target || (routed.inner && target.item?.onlyFor)) throw unknownName(this.#parts.refusals, routed, 'tool', name)
    return selection(scope, name, target, params)
  }

  #sendCall(
    routed: Routed,
    chosen: Selection,
    params: JsonObject | undefined,
    shaped: JsonObject,
  ): Outcome | Promise<Outcome> {
    const { exchange, scope } = routed
    const { target } = chosen
    const startedMs = this.#parts.now()
    const trace = this.#parts.tracer?.begin({
      ...{ tool: target.original, server: target.member.server.name, group: scope.resolved.group.name },
      ...{ requestId: exchange.requestId, userId: exchange.actor.userId, meta: params?._meta },
    })
    const sent = traced(shaped, trace)
    const finish = (reply: UpstreamReply): Outcome => {
      const endedMs = this.#parts.now()
      const answered = withStructure(target, reply, this.#parts.forwarder.outcome(routed, target.member, reply))
      const outcome = withOthers(scope, chosen, answered)
      trace?.end(callStatus(reply))
      // Not finished: the retry is recorded.
      if (outcome.kind === 'input_required') return outcome
      const { group } = scope.resolved
      const sentCall = { caller: exchange, group, target, startedMs, endedMs, traceId: trace?.traceId }
      this.#records.sent(sentCall, reply, outcome, routed.held)
      const answer = failureForModel(exchange, () => scope.face(target.member.server.id), outcome)
      return truncated(routed, target, 'unsent' in reply ? { ...answer, unsent: true } : answer)
    }
    if (!target.task && sent.task === undefined) return this.#parts.forwarder.forward(routed, target, sent, finish)
    return this.#parts.tasks.call(routed, target, sent, finish)
  }
}
