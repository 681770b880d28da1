import type { AskClient, UpstreamCall, UpstreamReply } from '../../connections/api.ts'
import type { JsonObject } from '../../contract/json.ts'
import { isPlainObject, parseExact } from '../../domain/json/exact-json.ts'
import type { Exchange } from './exchange.ts'
import { createdTask, isForgotten, isOver, type TaskState, taskState, withRelatedTask } from './task-state.ts'

/** Default poll interval, and the bounds of the interval that a task names. */
const USUAL_POLL_MS = 1_000
const SHORTEST_POLL_MS = 250
const LONGEST_POLL_MS = 15_000
/** Time for which a task is asked for again while its server cannot be reached. */
export const LOST_MS = 60_000
const CANCELLED: UpstreamReply = { kind: 'cancelled' }
/** Failures after which the server may still have the task. */
const MAY_PASS: ReadonlySet<string> = new Set([
  ...['connection_lost', 'server_offline', 'overloaded', 'upstream_http_error', 'upstream_timeout'],
])

/** The parts in which one of a call's requests differs from the call itself. */
export interface Change {
  readonly method?: string
  readonly params?: JsonObject
  readonly ask?: AskClient
  /** Called with the upstream's progress in place of the caller. */
  readonly progress?: (params: JsonObject) => void
  /** The hub itself sends the caller's progress. */
  readonly quiet?: true
  /** The tasks extension is declared to a modern server. */
  readonly tasks?: true
}

/** Sends one request of the call. */
export type Begin = (change?: Change) => UpstreamCall

/** One call that the hub runs as a task. */
interface TaskRunOptions {
  readonly exchange: Exchange
  readonly begin: Begin
  /** Parameters of the call, with the upstream's names. */
  readonly params: JsonObject
  /** Time limit for the whole task, without the time for which the client is asked. */
  readonly limitMs: number
}

/** A task as its server describes it. */
export type Polled = { readonly state: TaskState; readonly value: JsonObject }

/**
 * A call that becomes a task, by a caller that does not handle tasks: the hub polls the task at the server's interval,
 * reports its status as progress, and returns its result. Cancelling the call cancels the task. A task whose server
 * cannot be reached is polled again for a minute.
 */
export abstract class TaskRun {
  protected readonly options: TaskRunOptions
  readonly #cancelled = Promise.withResolvers<UpstreamReply>()
  readonly #abort = new AbortController()
  #call: UpstreamCall | undefined
  #taskId: string | undefined
  #lastMessage: string | undefined
  #steps = 0
  #untilMs = 0
  #lostAtMs: number | undefined

  constructor(options: TaskRunOptions) {
    this.options = options
  }

  async reply(): Promise<UpstreamReply> {
    const { exchange } = this.options
    const work = this.#work()
    exchange.cancel = reason => this.#cancel(reason)
    return Promise.race([this.#cancelled.promise, work])
  }

  /** The change that makes the call one for a task. `cancels`: cancelling it before its reply is passed on. */
  protected abstract creation(): { readonly change: Change; readonly cancels: boolean }

  /** The task in the reply to the call; undefined: it is the call's own result. */
  protected abstract created(reply: UpstreamReply): JsonObject | undefined

  /** The end of the call; undefined while the task must be polled. `isFirst`: it is described by the reply to the call. */
  protected abstract settled(polled: Polled, isFirst: boolean): Promise<UpstreamReply | undefined>

  /** A change that all requests for the task have. */
  protected abstract readonly common: Change

  /** Signals that the call was cancelled. */
  protected get signal(): AbortSignal {
    return this.#abort.signal
  }

  protected ask(method: string, params: JsonObject = {}, ask?: AskClient): Promise<UpstreamReply> {
    const change = { ...this.common, method, params: { taskId: this.#taskId ?? '', ...params }, quiet: true } as const
    this.#call = this.options.begin(ask ? { ...change, ask } : change)
    return this.#call.reply
  }

  /** Nobody waits for the task any more. */
  protected cancelTask(): void {
    if (this.#taskId !== undefined) void this.ask('tasks/cancel')
  }

  /** Moves the time limit by the time that a person was asked. */
  protected extend(ms: number): void {
    this.#untilMs += ms
  }

  /** Passes the server's own progress on; the hub's continues behind it. */
  protected forwardProgress(params: JsonObject): void {
    if (typeof params.progress === 'number') this.#steps = Math.max(this.#steps, params.progress)
    this.options.exchange.progress?.(params)
  }

  async #work(): Promise<UpstreamReply> {
    const { limitMs, begin } = this.options
    this.#untilMs = performance.now() + limitMs
    const { change, cancels } = this.creation()
    const call = begin(change)
    if (cancels) this.#call = call
    const reply = await call.reply
    const value = this.created(reply)
    const state = taskState(value)
    if (!value || !state) return reply.kind === 'task' ? undescribed() : reply
    this.#taskId = state.taskId
    if (this.signal.aborted) {
      this.cancelTask()
      return CANCELLED
    }
    return this.#poll({ value, state })
  }

  async #poll(first: Polled): Promise<UpstreamReply> {
    for (let polled = first; ; ) {
      this.#notifyProgress(polled.state)
      const end = await this.settled(polled, polled === first)
      if (this.signal.aborted) return CANCELLED
      if (end) return end
      // The reply to the call need not hold the result of a task that is over.
      if (polled !== first && isOver(polled.state)) return undescribed()
      const next = await this.#next(polled)
      if ('kind' in next) return next
      polled = next
    }
  }

  /** The next description of the task, or the end of the call. */
  async #next({ state }: Polled): Promise<Polled | UpstreamReply> {
    // A task that was over when it was made is not described with its result.
    for (let waits = !isOver(state); ; waits = true) {
      if (performance.now() >= this.#untilMs) return this.#expired()
      if (waits) await this.#pause(state)
      const reply = this.signal.aborted ? CANCELLED : await this.ask('tasks/get')
      if (this.signal.aborted) return CANCELLED
      if (reply.kind === 'result') return this.#described(String(reply.text))
      const end = this.#unanswered(reply)
      if (end) return end
    }
  }

  #described(text: string): Polled | UpstreamReply {
    this.#lostAtMs = undefined
    const value = parseExact(text)
    const state = taskState(value)
    return state && isPlainObject(value) ? { value, state } : undescribed()
  }

  /** The end of a call whose task could not be described; undefined while that may pass. */
  #unanswered(reply: UpstreamReply): UpstreamReply | undefined {
    if (reply.kind === 'error' && isForgotten(reply)) {
      const message = `The server does not know the task of this call any more: ${reply.error.message}`
      return { kind: 'failed', code: 'connection_lost', message }
    }
    if (reply.kind === 'error') this.cancelTask()
    if (reply.kind !== 'failed') return reply
    this.#lostAtMs ??= performance.now()
    if (MAY_PASS.has(reply.code) && performance.now() - this.#lostAtMs < LOST_MS) return undefined
    this.cancelTask()
    return reply
  }

  #notifyProgress({ status, statusMessage }: TaskState): void {
    const message = statusMessage ?? status
    if (message === this.#lastMessage) return
    this.#lastMessage = message
    this.#steps += 1
    this.options.exchange.progress?.({ progress: this.#steps, message })
  }

  async #pause(state: TaskState): Promise<void> {
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(over.resolve, pollIntervalOf(state))
    await Promise.race([over.promise, this.#cancelled.promise])
    clearTimeout(timer)
  }

  #expired(): UpstreamReply {
    this.cancelTask()
    const message = `The task was not over within ${this.options.limitMs} ms`
    return { kind: 'failed', code: 'upstream_timeout', message }
  }

  /** A task whose id is not known yet is cancelled once it is. */
  #cancel(reason: string | undefined): void {
    if (this.signal.aborted) return
    this.#abort.abort()
    this.#cancelled.resolve(CANCELLED)
    this.#call?.cancel(reason)
    this.cancelTask()
  }
}

/** Milliseconds until a task is asked for again. */
export function pollIntervalOf({ pollIntervalMs = USUAL_POLL_MS }: Pick<TaskState, 'pollIntervalMs'> = {}): number {
  return Math.min(Math.max(pollIntervalMs, SHORTEST_POLL_MS), LONGEST_POLL_MS)
}

function undescribed(): UpstreamReply {
  return { kind: 'failed', code: 'upstream_protocol', message: 'The server described no task' }
}

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
