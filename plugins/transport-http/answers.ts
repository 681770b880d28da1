/**
 * True when a JSON-RPC text answers the request of this id. The two usual layouts are recognized by head and tail
 * alone, since a result may be megabytes long; anything else is parsed. False for invalid JSON.
 */
export function answersRequest(text: string, id: number): boolean {
  if (text.startsWith('{"jsonrpc":"2.0","id":')) {
    const after = text.slice(22, 50)
    if (after.startsWith(`${id},"result":`) || after.startsWith(`${id},"error":`)) return true
  } else if (text.startsWith('{"result":') && text.endsWith(`,"jsonrpc":"2.0","id":${id}}`)) return true
  try {
    const message: unknown = JSON.parse(text)
    return Array.isArray(message) ? message.some(one => isAnswer(one, id)) : isAnswer(message, id)
  } catch {
    return false
  }
}

/** The code of a JSON-RPC error body, for the reason of an HTTP error; `own` when it answers the request of this id. */
export function readErrorBody(
  text: string,
  id: number | undefined,
): { readonly code: number; readonly own: boolean } | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (!isRecord(body) || !isRecord(body.error) || !Number.isInteger(body.error.code)) return undefined
    return { code: Number(body.error.code), own: id !== undefined && isId(body.id, id) && body.jsonrpc === '2.0' }
  } catch {
    return undefined
  }
}

/**
 * A JSON-RPC error that names no request of the hub, such as `"id": "server-error"`, with `id: null`: it is about the request
 * that was sent. Undefined for everything else.
 */
export function unnamedError(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (!isRecord(body) || !isRecord(body.error) || 'method' in body || isNumbered(body.id)) return undefined
    return body.id === null ? text : JSON.stringify({ ...body, id: null })
  } catch {
    return undefined
  }
}

/** True for an id that may be that of another request. */
function isNumbered(id: unknown): boolean {
  return (typeof id === 'number' && id > 0) || (typeof id === 'string' && /^\d+$/.test(id))
}

function isAnswer(message: unknown, id: number): boolean {
  return isRecord(message) && isId(message.id, id) && ('result' in message || 'error' in message)
}

/** Some servers write the number as a string. */
function isId(found: unknown, id: number): boolean {
  return found === id || found === String(id)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
