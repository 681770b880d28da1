import type { AskClient, UpstreamReply } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/json.ts'
import { parseExact } from '../../../domain/json/exact-json.ts'
import { weightOfText } from '../../../domain/json/long-text.ts'
import { connectionKey } from '../../../domain/session-scope.ts'
import { takesTasks, taskCapability } from '../../../domain/tools/task-support.ts'
import { invalid } from '../../rpc/rpc.ts'
import type { Scope } from '../../scope/scope.ts'
import type { MemberState, ScopeMember, Target } from '../../scope/scope-types.ts'
import type { Outcome } from '../exchange.ts'
import type { Forwarder, Routed } from '../forwarder.ts'
import type { MethodHandler } from '../router.ts'
import { type Change, CoreTaskRun } from '../task-run.ts'
import { createdTask, isForgotten, taskState, withRelatedTask } from '../task-state.ts'
import { ExtensionTaskRun } from './extension-task-run.ts'
import { declaresTasks, type ExtensionTasks } from './extension-tasks.ts'
import type { OpenTask, TaskPlace, TaskTable } from './task-table.ts'

/** The protocol version whose core includes tasks. */
export const TASKS_VERSION = '2025-11-25'
const EMPTY_LIST: Outcome = { kind: 'result', resultText: '{"tasks":[]}' }

/** The task capability that a client of this version sees at this address. */
export function offeredTasks({ resolved, catalog }: Scope, protocolVersion: string): JsonObject {
  const capabilities = catalog.states[0]?.catalog?.capabilities
  if (resolved.kind !== 'server' || protocolVersion !== TASKS_VERSION || !capabilities) return {}
  const tasks = taskCapability(capabilities)
  return tasks ? { tasks } : {}
}

interface Passing {
  readonly state: MemberState
  readonly member: ScopeMember
  readonly place: TaskPlace
  readonly session: string
}

/**
 * Tasks of MCP 2025-11-25 where a client of that version talks to one server, and those of the extension of 2026-07-28
 * (`extension`), under ids of the hub's own. Tasks of clients that do not handle them are run by the hub.
 */
export class Tasks {
  readonly #table: TaskTable
  readonly #forwarder: Forwarder
  readonly #extension: ExtensionTasks

  constructor(table: TaskTable, forwarder: Forwarder, extension: ExtensionTasks) {
    this.#table = table
    this.#forwarder = forwarder
    this.#extension = extension
  }

  /** The handlers of its methods. */
  routes(): Readonly<Record<string, MethodHandler>> {
    return {
      'tasks/get': (routed, params) =>
        routed.exchange.modern ? this.#extension.get(routed, params) : this.#described(routed, params),
      'tasks/cancel': (routed, params) =>
        routed.exchange.modern ? this.#extension.acknowledge(routed, params) : this.#described(routed, params),
      'tasks/update': (routed, params) => this.#extension.acknowledge(routed, params),
      'tasks/result': (routed, params) => this.#result(routed, params),
      'tasks/list': routed => this.#list(routed),
    }
  }

  /** Sends a tool call: as a task for its caller, as a task that the hub runs, or as an ordinary call. */
  call(
    routed: Routed,
    target: Target,
    params: JsonObject,
    finish: (reply: UpstreamReply) => Outcome,
  ): Promise<Outcome> {
    const { task, ...plain } = params
    if (target.task === 'extension') return this.#extended(routed, target, plain, finish)
    const passing = task === undefined ? undefined : passes(routed)
    if (passing) return this.#create(routed, { target, params, passing, finish })
    if (target.task !== 'required') return this.#forwarder.forward(routed, target, plain, finish)
    const limitMs = target.member.server.maxTimeoutMs
    return this.#forwarder.forward(routed, target, plain, finish, begin =>
      new CoreTaskRun({ exchange: routed.exchange, begin, params: plain, limitMs }).reply(),
    )
  }

  #extended(
    routed: Routed,
    target: Target,
    params: JsonObject,
    finish: (reply: UpstreamReply) => Outcome,
  ): Promise<Outcome> {
    const passed = declaresTasks(routed) ? this.#extension.create(routed, target, params, finish) : undefined
    if (passed) return passed
    const limitMs = target.member.server.maxTimeoutMs
    return this.#forwarder.forward(routed, target, params, finish, begin =>
      new ExtensionTaskRun({ exchange: routed.exchange, begin, params, limitMs }).reply(),
    )
  }

  async #create(
    routed: Routed,
    call: {
      readonly target: Target
      readonly params: JsonObject
      readonly passing: Passing
      readonly finish: (reply: UpstreamReply) => Outcome
    },
  ): Promise<Outcome> {
    const { place, session } = call.passing
    const release = this.#table.reserve(place.userId)
    try {
      return await this.#forwarder.forward(routed, call.target, call.params, reply => {
        const created = reply.kind === 'result' ? createdTask(String(reply.text)) : undefined
        if (!created || reply.kind !== 'result') return call.finish(reply)
        const made = this.#table.add(place, session, created.state)
        const { id } = made
        routed.exchange.task = made
        const { task, ...rest } = created.result
        const named = { ...rest, task: { ...(isJsonObject(task) ? task : {}), taskId: id } }
        return call.finish({ ...reply, text: JSON.stringify(withRelatedTask(named, id)) })
      })
    } finally {
      release()
    }
  }

  async #described(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const passing = required(routed)
    return this.#poll(routed, passing, this.#named(passing, params), routed.exchange.method)
  }

  #poll(routed: Routed, { member }: Passing, task: OpenTask, method: string): Promise<Outcome> {
    const change: Change = { method, params: { taskId: task.upstreamId } }
    const finish = (reply: UpstreamReply): Outcome => {
      const value = reply.kind === 'result' ? parseExact(String(reply.text)) : undefined
      const state = taskState(value)
      if (isForgotten(reply)) task.end()
      if (method === 'tasks/cancel') task.release()
      if (!state || !isJsonObject(value)) return this.#forwarder.outcome(routed, member, reply)
      task.noted(state)
      const named = withRelatedTask({ ...value, taskId: task.id }, task.id)
      return { kind: 'result', resultText: JSON.stringify(named) }
    }
    return this.#forwarder.forward(routed, { member }, undefined, finish, begin => sent(routed, begin(change)))
  }

  async #result(routed: Routed, params: JsonObject | undefined): Promise<Outcome> {
    const passing = required(routed)
    const task = this.#named(passing, params)
    const { exchange } = routed
    // The server's requests to the client arrive with the request for the result.
    const ask: AskClient = (method, body, signal) => exchange.ask(method, withRelatedTask(body, task.id), signal)
    const change: Change = { params: { taskId: task.upstreamId }, ask }
    const finish = (reply: UpstreamReply): Outcome => {
      const outcome = this.#forwarder.outcome(routed, passing.member, reply)
      if (reply.kind === 'error') task.resulted(true, 0)
      if (reply.kind === 'result') task.resulted(reply.isError, weightOfText(reply.text))
      if (outcome.kind !== 'result') return outcome
      const value = parseExact(String(outcome.resultText))
      if (!isJsonObject(value)) return outcome
      return { kind: 'result', resultText: JSON.stringify(withRelatedTask(value, task.id)) }
    }
    return this.#forwarder.forward(routed, passing, undefined, finish, begin => sent(routed, begin(change)))
  }

  /** The server's own list has the tasks of all users of its connection, so this user's are queried one by one. */
  async #list(routed: Routed): Promise<Outcome> {
    const passing = required(routed)
    const tasks: string[] = []
    for (const task of this.#table.at(passing.place)) {
      const outcome = await this.#poll(routed, passing, task, 'tasks/get')
      if (outcome.kind === 'result') tasks.push(String(outcome.resultText))
      else if (outcome.kind !== 'error') return outcome
    }
    return tasks.length === 0 ? EMPTY_LIST : { kind: 'result', resultText: `{"tasks":[${tasks.join(',')}]}` }
  }

  #named({ place }: Passing, params: JsonObject | undefined): OpenTask {
    const task = this.#table.find(params?.taskId, place)
    if (!task) throw invalid('There is no task of this name here; it may have expired')
    return task
  }
}

/** Lets the dispatcher cancel the call. */
function sent({ exchange }: Routed, call: { reply: Promise<UpstreamReply>; cancel(reason?: string): void }) {
  exchange.cancel = reason => call.cancel(reason)
  return call.reply
}

/** Returns the place of this exchange's tasks; undefined where tasks are not forwarded. */
function passes({ exchange, scope }: Routed): Passing | undefined {
  const { session, actor } = exchange
  if (scope.resolved.kind !== 'server' || exchange.modern || session?.protocolVersion !== TASKS_VERSION)
    return undefined
  const [state] = scope.catalog.states
  if (!state?.catalog || !takesTasks(state.catalog.capabilities)) return undefined
  const { member } = state
  const serverId = member.server.id
  const connection = connectionKey(member.server, session, scope.face(serverId))
  return { state, member, place: { userId: actor.userId, serverId, connection }, session: session.id }
}

function required(routed: Routed): Passing {
  const passing = passes(routed)
  if (passing) return passing
  const { method } = routed.exchange
  throw new HubError('method_not_found', `There is no ${method} here: tasks pass where one server takes them`)
}
