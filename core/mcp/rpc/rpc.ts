import { LIMITS } from '../../config/limits.ts'
import type { RpcError } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isPlainObject, isRawNumber, parseAsWritten } from '../../domain/json/exact-json.ts'
import { duplicateKey, jsonInvalid } from '../../domain/json/json-guard.ts'
import { mustHoldMore, scanShape } from '../../domain/json/json-shape.ts'
import { type JsonText, textWithin } from '../../domain/json/long-text.ts'

export { isPlainObject, parseExact } from '../../domain/json/exact-json.ts'
export { rpcError } from '../../domain/rpc-error.ts'

/** JSON text of a request id as its sender wrote it: `1` and `"1"` are two different ids. */
export type IdText = string

/** One JSON-RPC message of valid shape. */
export type Message =
  | { readonly kind: 'request'; readonly id: IdText; readonly method: string; readonly params: JsonObject | undefined }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
  | { readonly kind: 'result'; readonly id: IdText; readonly result: JsonValue }
  | { readonly kind: 'error'; readonly id: IdText; readonly error: RpcError }

/** A message with an id and a method. */
export type RequestMessage = Extract<Message, { kind: 'request' }>

/** An invalid message; `id` is present when it could be read. */
interface BadMessage {
  readonly kind: 'bad'
  readonly id: IdText | undefined
  readonly message: string
}

/** Position of a value: message (or array of messages), its parameters, elsewhere in the message, or inside data. */
type Place = 'message' | 'params' | 'rest' | 'data'

/**
 * Number of object members that a value holds. Arguments may have any key, and so may input responses, whose unknown keys are ignored;
 * elsewhere `__proto__` is rejected.
 */
function countMembers(value: unknown, place: Place): number {
  return typeof value !== 'object' || value === null || isRawNumber(value) ? 0 : countIn(value, place)
}

function countIn(value: object, place: Place): number {
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item, place)
    return count
  }
  for (const key in value) {
    if (key === '__proto__' && place !== 'data')
      throw new HubError(
        'key_forbidden',
        'Cannot read the request: the JSON key "__proto__" is accepted within "arguments" and "inputResponses" alone',
      )
    count += 1
    const child = (value as Record<string, unknown>)[key]
    // Most values are strings and numbers; a function call for each would cost as much as all the rest.
    if (typeof child === 'object') count += countMembers(child, placeBelow(place, key))
  }
  return count
}

function placeBelow(place: Place, key: string): Place {
  if (place === 'message') return key === 'params' ? 'params' : 'rest'
  if (place === 'params') return key === 'arguments' || key === 'inputResponses' ? 'data' : 'rest'
  return place
}

/**
 * Parses a body. Throws json_empty, json_invalid, json_too_deep, json_too_large, json_duplicate_key, key_forbidden. The
 * shape is checked before parsing, as a recursive parser could exhaust the stack; up to 1 µs for one value.
 */
export function parseBody(text: string): JsonValue {
  const shape = scanShape(text)
  if (shape.depth > LIMITS.jsonDepth)
    throw new HubError(
      'json_too_deep',
      `Cannot read the request: its JSON is nested more than ${LIMITS.jsonDepth} levels deep`,
    )
  const most = LIMITS.mcpJsonMembers
  if (mustHoldMore(shape, most))
    throw new HubError('json_too_large', `Cannot read the request: its JSON has more than ${most} members`)
  let value: JsonValue
  try {
    // The scan skips strings, whereas searching a long string for such numbers takes milliseconds.
    value = shape.oddNumbers ? parseAsWritten(text) : (JSON.parse(text) as JsonValue)
  } catch (cause) {
    if (text.trim() === '') throw new HubError('json_empty', 'Cannot read the request: its body is empty')
    throw jsonInvalid('Cannot read the request: its body is not JSON', text, cause)
  }
  // JSON.parse keeps the last of two equal keys, so fewer members than colons means a duplicate.
  if (countMembers(value, 'message') !== shape.colons) throw duplicateKey(text)
  return value
}

/**
 * The id as JSON text; undefined when it is neither a string nor an integer, as MCP's JSON Schema requires, or too long.
 * `1.0` counts as the integer 1.
 */
export function idText(id: unknown): IdText | undefined {
  if (typeof id === 'number') return Number.isInteger(id) ? String(id) : undefined
  if (isTooLong(id)) return undefined
  if (typeof id === 'string') return JSON.stringify(id)
  if (!isRawNumber(id)) return undefined
  const text = JSON.stringify(id)
  const [whole, , exponent] = /^-?\d+(\.0+)?([eE]\+?\d{1,2})?$/.exec(text) ?? []
  if (whole !== undefined && Number.isSafeInteger(Number(text))) return String(Number(text))
  return whole !== undefined && exponent === undefined ? text : undefined
}

/** Ids and progress tokens are repeated in every answer and notification, so their length is judged before they are. */
function isTooLong(value: unknown): boolean {
  const text = typeof value === 'string' ? value : isRawNumber(value) ? JSON.stringify(value) : ''
  return text.length > LIMITS.rpcIdCharacters
}

function bad(id: IdText | undefined, message: string): BadMessage {
  return { kind: 'bad', id, message }
}

/** Validates the shape of one message. */
export function readMessage(value: JsonValue): Message | BadMessage {
  if (!isPlainObject(value)) return bad(undefined, 'A JSON-RPC message must be an object')
  const id = idText(value.id)
  if (value.jsonrpc !== '2.0') return bad(id, 'The member "jsonrpc" must be "2.0"')
  if (value.id !== undefined && id === undefined)
    return bad(
      undefined,
      `The member "id" must be a string or an integer of at most ${LIMITS.rpcIdCharacters} characters`,
    )
  const method = value.method
  if (method === undefined) return readResponse(value, id)
  if (typeof method !== 'string' || method === '') return bad(id, 'The member "method" must be a text')
  // Some clients write null for what is absent.
  const params = value.params ?? undefined
  if (params !== undefined && !isPlainObject(params)) return bad(id, 'The member "params" must be an object')
  if (isPlainObject(params?._meta) && isTooLong(params._meta.progressToken))
    return bad(id, `A "progressToken" may have at most ${LIMITS.rpcIdCharacters} characters`)
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

/** A JSON-RPC response; `resultText` is inserted as it is, without parsing. */
export function resultMessage(id: IdText, resultText: string): string
export function resultMessage(id: IdText, resultText: JsonText): JsonText
export function resultMessage(id: IdText, resultText: JsonText): JsonText {
  return textWithin(`{"jsonrpc":"2.0","id":${id},"result":`, resultText, '}')
}

/** A JSON-RPC error response. `id` undefined: the request's id could not be read, and the member is left out. */
export function errorMessage(id: IdText | undefined, error: RpcError): string {
  const idPart = id === undefined ? '' : `"id":${id},`
  return `{"jsonrpc":"2.0",${idPart}"error":${JSON.stringify(error)}}`
}

/** A JSON-RPC notification as text; `params` is left out when undefined. */
export function notificationMessage(method: string, params: JsonObject | undefined): string {
  return JSON.stringify(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params })
}

/** A JSON-RPC request as text; `params` is left out when undefined. */
export function requestMessage(id: number, method: string, params: JsonObject | undefined): string {
  return JSON.stringify(params === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params })
}

/** The thrown value as a HubError; anything else becomes `internal`, whose message does not reveal the cause. */
export function asHubError(error: unknown): HubError {
  return error instanceof HubError
    ? error
    : new HubError('internal', 'The hub failed on this request', { cause: error })
}

/** The error `params_invalid`: the parameters do not fit the method. */
export function invalid(message: string): HubError {
  return new HubError('params_invalid', message)
}
