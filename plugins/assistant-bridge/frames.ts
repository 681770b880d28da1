import { isJsonObject, type JsonObject } from 'patchbay/contract'

/** Content of one text frame. */
export type Frame =
  | { readonly kind: 'request'; readonly id: string; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string }
  | { readonly kind: 'response' }
  | { readonly kind: 'malformed'; readonly reply: string }

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

/** Reads a frame: one JSON-RPC message. `id` is the JSON text of the request's id, as the other side wrote it. */
export function readFrame(text: string): Frame {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return { kind: 'malformed', reply: errorReply('null', PARSE_ERROR, 'The message is not JSON') }
  }
  if (!isJsonObject(message)) return malformed('null', 'A message is one JSON-RPC object')
  return typeof message.method === 'string' ? readRequest(text, message, message.method) : readResponse(message)
}

function readResponse(message: JsonObject): Frame {
  const isResponse = ['result', 'error'].some(name => Object.hasOwn(message, name))
  return isResponse ? { kind: 'response' } : malformed('null', 'The message has no method')
}

function readRequest(text: string, message: JsonObject, method: string): Frame {
  const { id, params } = message
  const hasId = typeof id === 'string' || typeof id === 'number'
  const idText = hasId ? idOf(text, id) : 'null'
  if (message.jsonrpc !== '2.0') return malformed(idText, 'The message is not JSON-RPC 2.0')
  if (Object.hasOwn(message, 'id') && !hasId) return malformed('null', 'The id is neither a text nor a number')
  if (!hasId) return { kind: 'notification', method }
  if (params !== undefined && !isJsonObject(params)) return malformed(idText, 'The params are no object')
  return { kind: 'request', id: idText, method, params: params ?? {} }
}

/** A result as a frame; `result` is JSON text. */
export function resultReply(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`
}

/** An error as a frame. */
export function errorReply(id: string, code: number, message: string, data?: JsonObject): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`
}

function malformed(id: string, message: string): Frame {
  return { kind: 'malformed', reply: errorReply(id, INVALID_REQUEST, message) }
}

/** Numbers that JavaScript would write in another way keep their form: the other side may compare texts. */
function idOf(text: string, id: string | number): string {
  if (typeof id === 'string' || (Number.isSafeInteger(id) && new RegExp(`"id"\\s*:\\s*${id}\\s*[,}]`).test(text)))
    return JSON.stringify(id)
  let source = JSON.stringify(id)
  const holders = new Map<unknown, string>()
  JSON.parse(text, function (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) {
    if (key === 'id' && context?.source !== undefined) holders.set(this, context.source)
    if (key === '') source = holders.get(value) ?? source
    return value
  })
  return source
}
