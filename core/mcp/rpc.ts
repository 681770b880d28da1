import { LIMITS } from '../config/limits.ts'
import type { RpcError } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { isPlainObject, isRawNumber, parseExact } from '../domain/exact-json.ts'

export { isPlainObject, parseExact } from '../domain/exact-json.ts'
export { rpcError } from '../domain/rpc-error.ts'

/** JSON text of a request id as its sender wrote it: `1` and `"1"` are two ids. */
export type IdText = string

/** One JSON-RPC message after its shape was judged. */
export type Message =
  | { readonly kind: 'request'; readonly id: IdText; readonly method: string; readonly params: JsonObject | undefined }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
  | { readonly kind: 'result'; readonly id: IdText; readonly result: JsonValue }
  | { readonly kind: 'error'; readonly id: IdText; readonly error: RpcError }

export type RequestMessage = Extract<Message, { kind: 'request' }>

/** What is wrong with one message; `id` is there when it could be read. */
interface BadMessage {
  readonly kind: 'bad'
  readonly id: IdText | undefined
  readonly message: string
}

function checkTree(value: unknown, levelsLeft: number): void {
  if (typeof value !== 'object' || value === null) return
  if (levelsLeft === 0)
    throw new HubError(
      'json_too_deep',
      `Cannot read the request: its JSON is nested more than ${LIMITS.jsonDepth} levels deep`,
    )
  if (Array.isArray(value)) {
    for (const item of value) checkTree(item, levelsLeft - 1)
    return
  }
  for (const key in value) {
    if (key === '__proto__')
      throw new HubError('key_forbidden', 'Cannot read the request: the JSON key "__proto__" is never accepted')
    checkTree((value as Record<string, unknown>)[key], levelsLeft - 1)
  }
}

/** A request body as JSON. Throws HubError: json_empty, json_invalid, json_too_deep, key_forbidden. */
export function parseBody(text: string): JsonValue {
  let value: JsonValue
  try {
    value = parseExact(text)
  } catch (cause) {
    if (text.trim() === '') throw new HubError('json_empty', 'Cannot read the request: its body is empty')
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new HubError('json_invalid', `Cannot read the request: its body is not JSON (${reason})`, { cause })
  }
  if (needsWalk(text, LIMITS.jsonDepth)) checkTree(value, LIMITS.jsonDepth)
  return value
}

/** False for a text that can hold neither the forbidden key, which can only be written out or escaped, nor more levels. */
export function needsWalk(text: string, levels: number): boolean {
  return mayBeTooDeep(text, levels) || text.includes('__proto__') || text.includes('\\u')
}

/** False for a text with too few brackets; most have a dozen, and are told by that for less than a walk costs. */
function mayBeTooDeep(text: string, levels: number): boolean {
  if (text.length <= 2 * levels) return false
  let left = levels
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      left -= 1
      if (left < 0) return true
    }
  }
  return false
}

/** The id as text, or undefined when it is neither a string nor a number. */
export function idText(id: unknown): IdText | undefined {
  if (typeof id === 'number') return String(id)
  if (typeof id === 'string') return JSON.stringify(id)
  return isRawNumber(id) ? JSON.stringify(id) : undefined
}

function bad(id: IdText | undefined, message: string): BadMessage {
  return { kind: 'bad', id, message }
}

/** Judges the shape of one message. */
export function readMessage(value: JsonValue): Message | BadMessage {
  if (!isPlainObject(value)) return bad(undefined, 'A JSON-RPC message must be an object')
  const id = idText(value.id)
  if (value.jsonrpc !== '2.0') return bad(id, 'The member "jsonrpc" must be "2.0"')
  if (value.id !== undefined && id === undefined) return bad(undefined, 'The member "id" must be a string or a number')
  const method = value.method
  if (method === undefined) return readResponse(value, id)
  if (typeof method !== 'string' || method === '') return bad(id, 'The member "method" must be a text')
  const params = value.params
  if (params !== undefined && !isPlainObject(params)) return bad(id, 'The member "params" must be an object')
  if (id === undefined) return { kind: 'notification', method, params }
  return { kind: 'request', id, method, params }
}

function readResponse(value: JsonObject, id: IdText | undefined): Message | BadMessage {
  if (id === undefined) return bad(undefined, 'A JSON-RPC message must have a "method" or an "id"')
  if (value.result !== undefined && value.error === undefined) return { kind: 'result', id, result: value.result }
  const error = value.error
  if (value.result === undefined && isPlainObject(error)) {
    const { code, message, data } = error
    if (typeof code === 'number' && typeof message === 'string')
      return { kind: 'error', id, error: { code, message, ...(data === undefined ? {} : { data }) } }
  }
  return bad(id, 'A JSON-RPC message must have a "method", or one of "result" and "error"')
}

export function resultMessage(id: IdText, resultText: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${resultText}}`
}

/** `id` undefined: the id of the request could not be read, and the member is left out. */
export function errorMessage(id: IdText | undefined, error: RpcError): string {
  const idPart = id === undefined ? '' : `"id":${id},`
  return `{"jsonrpc":"2.0",${idPart}"error":${JSON.stringify(error)}}`
}

export function notificationMessage(method: string, params: JsonObject | undefined): string {
  return JSON.stringify(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params })
}

export function requestMessage(id: number, method: string, params: JsonObject | undefined): string {
  return JSON.stringify(params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params })
}

/** Whatever was thrown as a HubError; what is not one becomes `internal`, which tells nothing of its cause. */
export function asHubError(error: unknown): HubError {
  return error instanceof HubError
    ? error
    : new HubError('internal', 'The hub failed on this request', { cause: error })
}

/** The refusal of a request whose parameters are not what its method takes. */
export function invalid(message: string): HubError {
  return new HubError('params_invalid', message)
}
