import { setTimeout as rest } from 'node:timers/promises'
import { LIMITS } from '../../../config/limits.ts'
import type { JsonObject } from '../../../contract/json.ts'
import { parseExact } from '../../../domain/json/exact-json.ts'
import { asHubError } from '../../rpc/rpc.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Outcome } from '../exchange.ts'
import type { Routed } from '../forwarder.ts'
import { SessionlessExchange, type SessionlessRequest } from '../sessionless-exchange.ts'
import { LOST_MS, pollIntervalOf } from '../task-run.ts'
import { isOver, taskState } from '../task-state.ts'
import type { ExtensionTasks } from './extension-tasks.ts'

/** The user who follows tasks, the address, and the end of the following. */
export interface Following extends Pick<SessionlessRequest, 'requestId' | 'clientAddress' | 'actor' | 'signal'> {
  readonly scope: Scope
  readonly capabilities: JsonObject
}

/**
 * Follows tasks of the extension of 2026-07-28 for listen streams: the hub polls them, at the servers' intervals, and notifies of
 * each change. Servers need not send notifications themselves for that.
 */
export class TaskFollower {
  readonly #tasks: Pick<ExtensionTasks, 'get' | 'knows'>
  /** Number of followed tasks of each user. */
  readonly #ofUser = new Map<string, number>()

  constructor(tasks: Pick<ExtensionTasks, 'get' | 'knows'>) {
    this.#tasks = tasks
  }

  /**
   * Begins to follow those of the tasks that are this caller's, and returns their ids: at most `tasksPerUser` of one user at a
   * time. `notify` gets the description of a task, first as it is now.
   */
  follow(following: Following, ids: readonly string[], notify: (task: JsonObject) => void): readonly string[] {
    const { scope, capabilities, actor } = following
    const exchange = new SessionlessExchange({ ...following, method: 'tasks/get', params: {} })
    const routed: Routed = {
      exchange: Object.assign(exchange, { capabilities, modern: () => ({ capabilities }) }),
      scope,
    }
    const known = ids.filter(id => this.#tasks.knows(routed, id) && this.#add(actor.userId))
    for (const id of known)
      void this.#poll(routed, id, following.signal, notify).finally(() => this.#remove(actor.userId))
    return known
  }

  async #poll(routed: Routed, taskId: string, signal: AbortSignal, notify: (task: JsonObject) => void): Promise<void> {
    let last = ''
    let lostAtMs: number | undefined
    for (;;) {
      const outcome = await this.#get(routed, taskId)
      if (signal.aborted) return
      const task = outcome.kind === 'result' ? parseExact(String(outcome.resultText)) : undefined
      const state = taskState(task)
      if (state) {
        lostAtMs = undefined
        last = noteChange(task as JsonObject, last, notify)
      } else lostAtMs ??= performance.now()
      const isLost = lostAtMs !== undefined && (outcome.kind !== 'failed' || performance.now() - lostAtMs > LOST_MS)
      if (isLost || (state && isOver(state))) return
      await rest(pollIntervalOf(state), undefined, { signal }).catch(() => undefined)
    }
  }

  async #get(routed: Routed, taskId: string): Promise<Outcome> {
    try {
      return await this.#tasks.get(routed, { taskId })
    } catch (error) {
      // It has expired, or may not be used any more.
      const { code, message } = asHubError(error)
      return { kind: 'error', error: { code: -32602, message: `${code}: ${message}` } }
    }
  }

  #add(userId: string): boolean {
    const count = this.#ofUser.get(userId) ?? 0
    if (count < LIMITS.tasksPerUser) this.#ofUser.set(userId, count + 1)
    return count < LIMITS.tasksPerUser
  }

  #remove(userId: string): void {
    const count = (this.#ofUser.get(userId) ?? 1) - 1
    if (count > 0) this.#ofUser.set(userId, count)
    else this.#ofUser.delete(userId)
  }
}

/** Notifies of a description that differs from the last one, and returns what the next one is compared with. */
function noteChange({ resultType: _, ...task }: JsonObject, last: string, notify: (task: JsonObject) => void): string {
  // The time of the last update alone is no news.
  const text = JSON.stringify({ ...task, lastUpdatedAt: null })
  if (text !== last) notify(task)
  return text
}
