import type { UpstreamReply } from '../../connections/api.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { asDouble, parseExact } from '../../domain/json/exact-json.ts'

/** The `_meta` key that names the task of a message. */
const RELATED_TASK = 'io.modelcontextprotocol/related-task'
const OVER: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled'])
const MOST_ID_CHARACTERS = 1024

const INVALID_PARAMS = -32602

/** True for the answer of a server that does not know the task any more. */
export function isForgotten(reply: UpstreamReply): boolean {
  return reply.kind === 'error' && reply.error.code === INVALID_PARAMS
}

/** A task as a server describes it. */
export interface TaskState {
  readonly taskId: string
  readonly status: string
  readonly statusMessage?: string
  readonly pollIntervalMs?: number
  /** Milliseconds after its creation for which the server keeps it; absent: unlimited, as far as is known. */
  readonly ttlMs?: number
}

/** True when the task has reached a final status. */
export function isOver({ status }: Pick<TaskState, 'status'>): boolean {
  return OVER.has(status)
}

/** The description of a task; undefined for any other value. */
export function taskState(value: JsonValue | undefined): TaskState | undefined {
  if (!isJsonObject(value)) return undefined
  const { taskId, status, statusMessage } = value
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > MOST_ID_CHARACTERS) return undefined
  if (typeof status !== 'string') return undefined
  const pollIntervalMs = asDouble(value.pollIntervalMs ?? value.pollInterval)
  const ttlMs = asDouble(value.ttlMs ?? value.ttl)
  return {
    taskId,
    status: status.toLowerCase(),
    ...(typeof statusMessage === 'string' ? { statusMessage } : {}),
    ...(pollIntervalMs === undefined ? {} : { pollIntervalMs }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
  }
}

/** The task that a call's result names in place of its content; undefined for an ordinary result. */
export function createdTask(text: string): { readonly state: TaskState; readonly result: JsonObject } | undefined {
  if (!text.includes('"taskId"')) return undefined
  const result = parseExact(text)
  const state = isJsonObject(result) ? taskState(result.task) : undefined
  return state && isJsonObject(result) ? { state, result } : undefined
}

/** Parameters or a result with another related task; without `taskId` the relation is removed. */
export function withRelatedTask<T extends JsonObject | undefined>(message: T, taskId: string | undefined): T {
  const meta = message?._meta
  if (!isJsonObject(meta) || meta[RELATED_TASK] === undefined) return message
  const { [RELATED_TASK]: _, ...others } = meta
  return { ...message, _meta: taskId === undefined ? others : { ...others, [RELATED_TASK]: { taskId } } }
}
