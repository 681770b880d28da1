import type { AskClient, UpstreamReply } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import { type Change, type Polled, TaskRun } from './task-run.ts'
import { createdTask, isOver, withRelatedTask } from './task-state.ts'

/** A call of a tool that must be a task, at a server of 2025-11-25. */
export class CoreTaskRun extends TaskRun {
  protected readonly common: Change = {}

  protected creation() {
    const { params, limitMs } = this.options
    return { change: { params: { ...params, task: { ttl: limitMs } }, quiet: true }, cancels: false } as const
  }

  protected created(reply: UpstreamReply): JsonObject | undefined {
    const { task } = (reply.kind === 'result' && createdTask(String(reply.text))?.result) || {}
    return task as JsonObject | undefined
  }

  protected async settled({ state }: Polled): Promise<UpstreamReply | undefined> {
    // The server's input requests are sent with the request for the result.
    if (!isOver(state) && state.status !== 'input_required') return undefined
    const { exchange } = this.options
    const ask: AskClient = (name, params, signal) => exchange.ask(name, withRelatedTask(params, undefined), signal)
    const reply = await this.ask('tasks/result', {}, ask)
    if (reply.kind === 'failed') this.cancelTask()
    return reply
  }
}
