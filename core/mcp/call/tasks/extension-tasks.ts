import { LIMITS } from '../../../config/limits.ts'
import type { UpstreamReply } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import { isPlainObject, parseExact } from '../../../domain/json/exact-json.ts'
import { extensionOf, TASKS_EXTENSION } from '../../../domain/tools/extensions.ts'
import { makesTasks } from '../../../domain/tools/task-support.ts'
import { invalid } from '../../rpc/rpc.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Target } from '../../scope/scope-types.ts'
import { everyTarget } from '../../scope/selector.ts'
import { shortened } from '../added-tools.ts'
import type { Exchange, Outcome } from '../exchange.ts'
import type { Forwarder, Routed } from '../forwarder.ts'
import type { Sealer } from '../pages.ts'
import { withStructure } from '../structured-result.ts'
import type { Change } from '../task-run.ts'
import { isForgotten, taskState } from '../task-state.ts'
import type { TaskTable } from './task-table.ts'

const PURPOSE = 'mcp-task'

/** A task as its sealed id names it. */
interface NamedTask {
  readonly id: string
  readonly upstreamId: string
  readonly target: Target
}

/** True where tasks of members' tools are passed to clients: at every address whose tools are its members'. */
export function passesTasks({ resolved, catalog }: Scope): boolean {
  return (
    resolved.view === undefined &&
    catalog.states.some(state => state.catalog !== undefined && makesTasks(state.catalog))
  )
}

/** True for a call by a client that declared the extension, of a tool under its member's name. */
export function declaresTasks({ exchange, scope, inner }: Routed): boolean {
  return !inner && exchange.modern !== undefined && hasDeclared(exchange) && scope.resolved.view === undefined
}

/**
 * Tasks of the extension of 2026-07-28, passed to clients that declare it. The id that a client gets is the server's, sealed
 * with caller, path, server and tool: it belongs to them alone, is unique among the members of a group, and holds after a
 * restart of the hub.
 */
export class ExtensionTasks {
  readonly #table: TaskTable
  readonly #forwarder: Forwarder
  readonly #sealer: Sealer
  readonly #now: () => number

  constructor(table: TaskTable, forwarder: Forwarder, sealer: Sealer, now: () => number) {
    this.#table = table
    this.#forwarder = forwarder
    this.#sealer = sealer
    this.#now = now
  }

  /** Sends a call that may become a task of its client; undefined when the client has no place for one more. */
  create(
    routed: Routed,
    target: Target,
    params: JsonObject,
    finish: (reply: UpstreamReply) => Outcome,
  ): Promise<Outcome> | undefined {
    const { userId } = routed.exchange.actor
    if (!this.#table.hasRoom(userId)) return undefined
    const release = this.#table.reserve(userId)
    const named = (reply: UpstreamReply): Outcome => {
      const value = reply.kind === 'task' ? parseExact(reply.text) : undefined
      const state = taskState(value)
      if (reply.kind !== 'task') return finish(reply)
      if (!state || !isPlainObject(value)) return finish(undescribed())
      const serverId = target.member.server.id
      const id = this.#seal(routed.scope, target, state.taskId)
      routed.exchange.task = this.#table.add({ userId, serverId, connection: undefined }, '', state, id)
      return finish({ kind: 'task', text: JSON.stringify({ ...value, taskId: id }) })
    }
    return this.#forwarder
      .forward(routed, target, params, named, begin => sent(routed.exchange, begin({ tasks: true })))
      .finally(release)
  }

  /** `tasks/get`: the task with the client's id for it, and the result in the form of this address. */
  async get(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const task = this.#named(routed, params)
    return this.#forward(routed, task, params, reply => {
      const value = reply.kind === 'result' ? parseExact(String(reply.text)) : undefined
      const state = taskState(value)
      const open = this.#table.asked(task.id)
      if (!state || !isPlainObject(value)) {
        if (isForgotten(reply)) open?.end()
        return this.#unknown(routed, task, reply)
      }
      open?.noted(state)
      const { result } = value
      // The official client demands the type, which the specification's own examples leave out.
      const shown = isPlainObject(result)
        ? { result: { resultType: 'complete', ...this.#shaped(routed, task.target, result) } }
        : {}
      if (isPlainObject(result)) open?.resulted(result.isError === true, JSON.stringify(result).length)
      else if (value.error !== undefined) open?.resulted(true, 0)
      return { kind: 'result', resultText: JSON.stringify({ ...value, ...shown, taskId: task.id }) }
    })
  }

  /** True for an id that this caller was given here. */
  knows({ exchange, scope }: Routed, taskId: string): boolean {
    try {
      return passesTasks(scope) && this.#named({ exchange, scope }, { taskId }).id === taskId
    } catch {
      return false
    }
  }

  /** `tasks/update`, `tasks/cancel`: the server acknowledges them. */
  async acknowledge(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const task = this.#named(routed, params)
    return this.#forward(routed, task, params, reply => {
      const open = this.#table.asked(task.id)
      // As with other calls, one that is cancelled is not in flight any more, whatever its server does.
      if (routed.exchange.method === 'tasks/cancel' || isForgotten(reply)) open?.release()
      if (reply.kind === 'result') return { kind: 'result', resultText: '{}' }
      return this.#unknown(routed, task, reply)
    })
  }

  #forward(
    routed: Routed,
    { target, upstreamId }: NamedTask,
    params: JsonObject | undefined,
    finish: (reply: UpstreamReply) => Outcome,
  ): Promise<Outcome> {
    const change: Change = { params: { ...params, taskId: upstreamId }, tasks: true }
    const { member } = target
    return this.#forwarder.forward(routed, { member }, undefined, finish, begin => sent(routed.exchange, begin(change)))
  }

  #unknown(routed: Routed, { target }: NamedTask, reply: UpstreamReply): Outcome {
    return this.#forwarder.outcome(routed, target.member, reply.kind === 'result' ? undescribed() : reply)
  }

  /** The result of a tool as a call of it would have returned it here. */
  #shaped(routed: Routed, target: Target, result: JsonObject): JsonObject {
    const { exchange, scope } = routed
    const isError = result.isError === true
    const reply: UpstreamReply = { kind: 'result', text: JSON.stringify(result), isError }
    const outcome = withStructure(target, reply, this.#forwarder.outcome(routed, target.member, reply))
    if (outcome.kind !== 'result') return result
    const { resultLimitBytes } = scope.resolved.group
    const short =
      resultLimitBytes === undefined
        ? outcome
        : shortened(exchange, scope, target, outcome, resultLimitBytes, 'tools/call')
    return short.kind === 'result' ? (parseExact(String(short.resultText)) as JsonObject) : result
  }

  #seal({ key }: Scope, { member, original }: Target, upstreamId: string): string {
    const untilMs = Math.round(this.#now() + LIMITS.taskMs)
    return this.#sealer.sealToken(PURPOSE, JSON.stringify([key, member.server.id, original, upstreamId, untilMs]))
  }

  /** Throws params_invalid for every id but those that this caller was given here, and the tools of which it may call. */
  #named({ exchange, scope }: Routed, params: JsonObject | undefined): NamedTask {
    if (!exchange.modern || !passesTasks(scope))
      throw new HubError('method_not_found', `There is no ${exchange.method} here: no server here makes tasks`)
    if (!hasDeclared(exchange)) throw undeclared()
    const id = params?.taskId
    const text = typeof id === 'string' && id.length <= LIMITS.sealedTokenCharacters ? this.#open(id) : undefined
    const [key, serverId, original, upstreamId, untilMs] = text ? (JSON.parse(text) as SealedTask) : []
    const member = key === scope.key ? scope.catalog.byServer.get(serverId ?? '')?.member : undefined
    const usable = member && untilMs !== undefined && untilMs > this.#now()
    if (typeof id !== 'string' || !usable || original === undefined || upstreamId === undefined) throw unknownTask()
    const target = toolOf(scope, serverId ?? '', original) ?? { member, original }
    if (target.blocked || !scope.permits('tools/call', target)) throw unknownTask()
    return { id, upstreamId, target }
  }

  #open(id: string): string | undefined {
    const text = this.#sealer.openToken(PURPOSE, id)
    return typeof text === 'string' ? text : undefined
  }
}

type SealedTask = readonly [key: string, serverId: string, original: string, upstreamId: string, untilMs: number]

/** Throws `client_capability_missing` for a client that did not declare the extension. */
export function requireTasks(capabilities: JsonObject): void {
  if (!hasDeclared({ capabilities })) throw undeclared()
}

/** The refusal of a request for tasks by a client that did not declare the extension. */
function undeclared(): HubError {
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } }
  return new HubError('client_capability_missing', `The client did not declare the extension ${TASKS_EXTENSION}`, {
    data: { requiredCapabilities },
  })
}

function hasDeclared({ capabilities }: Pick<Exchange, 'capabilities'>): boolean {
  return capabilities !== undefined && extensionOf(capabilities, TASKS_EXTENSION) !== undefined
}

function unknownTask(): HubError {
  return invalid('There is no task of this name here; it may have expired')
}

function toolOf({ catalog }: Scope, serverId: string, original: string): Target | undefined {
  for (const [, target] of everyTarget(catalog.tools))
    if (target.original === original && target.member.server.id === serverId) return target
  return undefined
}

function undescribed(): UpstreamReply {
  return { kind: 'failed', code: 'upstream_protocol', message: 'The server described no task' }
}

/** Lets the dispatcher cancel the request. */
function sent(exchange: Exchange, call: { reply: Promise<UpstreamReply>; cancel(reason?: string): void }) {
  exchange.cancel = reason => call.cancel(reason)
  return call.reply
}
