import type { AskClient, UpstreamCall, UpstreamReply } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import { parseExact } from '../../domain/json/exact-json.ts'
import type { Exchange } from './exchange.ts'
import { createdTask, isOver, type TaskState, taskState, withRelatedTask } from './task-state.ts'

/** Default poll interval, and the bounds of the interval that a task names. */
const USUAL_POLL_MS = 1_000
const SHORTEST_POLL_MS = 250
const LONGEST_POLL_MS = 15_000

/** What differs in one of a call's requests from the call itself. */
export interface Change {
  readonly method?: string
  readonly params?: JsonObject
  readonly ask?: AskClient
  /** The hub itself sends the caller's progress. */
  readonly quiet?: true
}

/** Sends one request of the call. */
export type Begin = (change?: Change) => UpstreamCall

interface TaskRunOptions {
  readonly exchange: Exchange
  readonly begin: Begin
  /** Of the call, with the upstream's names. */
  readonly params: JsonObject
  /** Time limit for the whole task. */
  readonly limitMs: number
}

/**
 * A call of a tool that must be a task, by a caller that does not make it one: the hub creates the task, polls it at
 * the server's interval, reports its status as progress, and returns its result. Cancelling the call cancels the task.
 */
export class TaskRun {
  readonly #options: TaskRunOptions
  readonly #cancelled = Promise.withResolvers<UpstreamReply>()
  #call: UpstreamCall | undefined
  #state: TaskState | undefined
  #isCancelled = false
  #lastMessage: string | undefined
  #steps = 0

  constructor(options: TaskRunOptions) {
    this.#options = options
  }

  async reply(): Promise<UpstreamReply> {
    const { exchange } = this.#options
    const work = this.#work()
    exchange.cancel = reason => this.#cancel(reason)
    return Promise.race([this.#cancelled.promise, work])
  }

  async #work(): Promise<UpstreamReply> {
    const { params, limitMs, begin } = this.#options
    const untilMs = performance.now() + limitMs
    const created = await begin({ params: { ...params, task: { ttl: limitMs } }, quiet: true }).reply
    const task = created.kind === 'result' ? createdTask(String(created.text)) : undefined
    if (!task) return created
    this.#state = task.state
    if (this.#isCancelled) {
      this.#cancelTask()
      return { kind: 'cancelled' }
    }
    return this.#poll(task.state, untilMs)
  }

  /** Polls the task until its result can be fetched. */
  async #poll(first: TaskState, untilMs: number): Promise<UpstreamReply> {
    for (let state = first; ; ) {
      this.#notifyProgress(state)
      // The server's input requests are sent with the request for the result.
      if (isOver(state) || state.status === 'input_required') return this.#last(await this.#ask('tasks/result'))
      if (performance.now() >= untilMs) return this.#expired()
      await this.#pause(state)
      if (this.#isCancelled) return { kind: 'cancelled' }
      const reply = await this.#ask('tasks/get')
      if (reply.kind !== 'result') return this.#last(reply)
      const next = taskState(parseExact(String(reply.text)))
      if (!next) return { kind: 'failed', code: 'upstream_protocol', message: 'The server described no task' }
      if (this.#isCancelled) return { kind: 'cancelled' }
      state = next
    }
  }

  #ask(method: string): Promise<UpstreamReply> {
    const { begin, exchange } = this.#options
    const ask: AskClient = (name, params, signal) => exchange.ask(name, withRelatedTask(params, undefined), signal)
    this.#call = begin({ method, params: this.#id(), ask, quiet: true })
    return this.#call.reply
  }

  /** The result could not be fetched, so nobody waits for the task any more. */
  #last(reply: UpstreamReply): UpstreamReply {
    if (reply.kind === 'failed') this.#cancelTask()
    return reply
  }

  #id(): JsonObject {
    return { taskId: this.#state?.taskId ?? '' }
  }

  #notifyProgress({ status, statusMessage }: TaskState): void {
    const message = statusMessage ?? status
    if (message === this.#lastMessage) return
    this.#lastMessage = message
    this.#steps += 1
    this.#options.exchange.progress?.({ progress: this.#steps, message })
  }

  async #pause({ pollIntervalMs = USUAL_POLL_MS }: TaskState): Promise<void> {
    const waitMs = Math.min(Math.max(pollIntervalMs, SHORTEST_POLL_MS), LONGEST_POLL_MS)
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(over.resolve, waitMs)
    await Promise.race([over.promise, this.#cancelled.promise])
    clearTimeout(timer)
  }

  #expired(): UpstreamReply {
    this.#cancelTask()
    const message = `The task was not over within ${this.#options.limitMs} ms`
    return { kind: 'failed', code: 'upstream_timeout', message }
  }

  /** A task whose id is not known yet is cancelled once it is. */
  #cancel(reason: string | undefined): void {
    if (this.#isCancelled) return
    this.#isCancelled = true
    this.#cancelled.resolve({ kind: 'cancelled' })
    this.#call?.cancel(reason)
    if (this.#state) this.#cancelTask()
  }

  #cancelTask(): void {
    this.#options.begin({ method: 'tasks/cancel', params: this.#id(), quiet: true })
  }
}
