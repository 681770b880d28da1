import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isPlainObject } from './rpc.ts'

/** A string or a number; a number beyond 2⁵³ is an object that holds its source text. */
export type ProgressToken = Exclude<JsonValue, null | boolean | readonly JsonValue[]>

/** The client's own token in a request's `_meta`: any string or number, including `0` and `""`. */
export function progressToken(meta: JsonValue | undefined): ProgressToken | undefined {
  const token = isPlainObject(meta) ? meta.progressToken : undefined
  if (typeof token === 'string' || typeof token === 'number') return token
  // A number beyond 2⁵³ is an object that holds its source text.
  const isSource = typeof token === 'object' && token !== null && !Array.isArray(token) && !isPlainObject(token)
  return isSource ? (token as JsonObject) : undefined
}
