import { randomUUID } from 'node:crypto'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isPlainObject } from '../json/exact-json.ts'
import { serverRequestKind } from '../mcp-methods.ts'

/** One of the `inputRequests` of a modern server, as a request that a legacy client understands. */
export interface InputRequest {
  readonly key: string
  readonly method: string
  readonly params: JsonObject | undefined
}

/** Undefined when one of them is not a valid input request. */
export function readInputRequests(requests: JsonValue | undefined): readonly InputRequest[] | undefined {
  if (!isPlainObject(requests)) return undefined
  const read: InputRequest[] = []
  for (const [key, request] of Object.entries(requests)) {
    if (!isPlainObject(request) || typeof request.method !== 'string' || !serverRequestKind(request.method))
      return undefined
    const params = isPlainObject(request.params) ? request.params : undefined
    // The legacy era requires an `elicitationId`, under which a client may later be notified of completion; the modern one drops it.
    const named = params?.mode === 'url' && params.elicitationId === undefined
    read.push({ key, method: request.method, params: named ? { ...params, elicitationId: randomUUID() } : params })
  }
  return read
}
