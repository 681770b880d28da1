import type { RpcError, UpstreamReply } from '../../../connections/api.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { isPlainObject, parseExact } from '../../../domain/json/exact-json.ts'
import { serverRequestKind } from '../../../domain/mcp-methods.ts'
import { type InputRequest, readInputRequests } from '../../../domain/tools/input-requests.ts'
import { type Change, type Polled, TaskRun } from '../task-run.ts'
import { isOver } from '../task-state.ts'

const INTERNAL_ERROR = -32603
/** Most questions of one task. */
const MOST_QUESTIONS = 64
/** Longest time in which the client may answer the questions of one poll. */
const ANSWER_MS = 10 * 60_000

/** A call of a tool at a server with the tasks extension (2026-07-28), which may make a task of any call. */
export class ExtensionTaskRun extends TaskRun {
  protected readonly common: Change = { tasks: true }
  readonly #askedKeys = new Set<string>()

  protected creation() {
    const { progress } = this.options.exchange
    const passed = progress ? { progress: (params: JsonObject) => this.forwardProgress(params) } : {}
    return { change: { ...this.common, ...passed }, cancels: true }
  }

  protected created(reply: UpstreamReply): JsonObject | undefined {
    const value = reply.kind === 'task' ? parseExact(reply.text) : undefined
    return isPlainObject(value) ? value : undefined
  }

  protected async settled({ state, value }: Polled, isFirst: boolean): Promise<UpstreamReply | undefined> {
    if (state.status === 'input_required')
      return value.inputRequests === undefined ? undefined : this.#answer(value.inputRequests)
    // A server may have other words for the end of a task: a result or an error says that it is over.
    const hasEnd = isPlainObject(value.result) || isRpcError(value.error)
    return isOver(state) || (hasEnd && state.status !== 'working') ? endOf({ state, value }, isFirst) : undefined
  }

  /** Asks the client what it was not asked yet, and sends the answers; undefined: the task continues. */
  async #answer(requests: JsonValue | undefined): Promise<UpstreamReply | undefined> {
    const questions = readInputRequests(requests)?.filter(({ key }) => !this.#askedKeys.has(key))
    if (questions?.length === 0) return undefined
    if (!questions || this.#askedKeys.size + questions.length > MOST_QUESTIONS)
      return this.#givenUp('upstream_protocol', 'The task asks for input that cannot be understood, or too often')
    const { capabilities } = this.options.exchange
    const unable = questions.find(({ method }) => capabilities?.[serverRequestKind(method) ?? ''] === undefined)
    if (unable)
      return this.#givenUp(
        'client_capability_missing',
        `The task asks for ${unable.method}, which the client does not offer`,
      )
    for (const { key } of questions) this.#askedKeys.add(key)
    const startedMs = performance.now()
    const replies = await this.#askAll(questions)
    this.extend(performance.now() - startedMs)
    if ('kind' in replies) {
      this.cancelTask()
      return replies
    }
    const sent = await this.ask('tasks/update', { inputResponses: replies.responses })
    if (sent.kind === 'result') return undefined
    this.cancelTask()
    return sent
  }

  async #askAll(questions: readonly InputRequest[]): Promise<{ readonly responses: JsonObject } | UpstreamReply> {
    const { exchange } = this.options
    const late = AbortSignal.timeout(ANSWER_MS)
    const failed = new AbortController()
    const signal = AbortSignal.any([late, failed.signal, this.signal])
    const responses: JsonObject = {}
    let error: RpcError | undefined
    await Promise.all(
      questions.map(async ({ key, method, params }) => {
        const reply = await exchange.ask(method, params, signal)
        if ('result' in reply) responses[key] = reply.result
        else if (!signal.aborted) {
          // The first error decides; the other questions are withdrawn.
          error = reply.error
          failed.abort()
        }
      }),
    )
    if (this.signal.aborted) return { kind: 'cancelled' }
    if (late.aborted) {
      const message = `The client did not answer the task's questions within ${ANSWER_MS / 60_000} minutes`
      return { kind: 'failed', code: 'upstream_timeout', message }
    }
    return error ? { kind: 'error', error } : { responses }
  }

  #givenUp(code: 'upstream_protocol' | 'client_capability_missing', message: string): UpstreamReply {
    this.cancelTask()
    return { kind: 'failed', code, message }
  }
}

/** The end of a task that is over; undefined where only a later description holds it. */
function endOf({ state, value }: Polled, isFirst: boolean): UpstreamReply | undefined {
  const { result, error } = value
  const { status, statusMessage = 'it gave no result and no error' } = state
  if (isPlainObject(result) && status !== 'cancelled') {
    const isError = result.isError === true || status === 'failed'
    return { kind: 'result', text: JSON.stringify(isError ? { ...result, isError } : result), isError }
  }
  if (isRpcError(error)) return { kind: 'error', error }
  // The reply to the call need not hold what the task ended with.
  if (isFirst && status !== 'cancelled' && error === undefined) return undefined
  const why = typeof error === 'string' ? error : statusMessage
  return { kind: 'error', error: { code: INTERNAL_ERROR, message: `The server ended the task as ${status}: ${why}` } }
}

function isRpcError(value: JsonValue | undefined): value is JsonObject & RpcError {
  return isPlainObject(value) && Number.isSafeInteger(value.code) && typeof value.message === 'string'
}
