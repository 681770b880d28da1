import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { visibleName, visibleText } from '../text/visible-text.ts'
import { isPlainObject } from './exact-json.ts'

/** An object in which names of members are as `visibleName` has them, and texts as `visibleText` does. */
export function visibleJson(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [visibleName(name), visibleValue(value)]))
}

/** The same for any value. */
export function visibleValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return visibleText(value)
  if (Array.isArray(value)) return value.map(visibleValue)
  return isPlainObject(value) ? visibleJson(value) : value
}
