import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { visibleName, visibleText } from '../text/visible-text.ts'
import { isPlainObject } from './exact-json.ts'

/** Returns an object in which names of members are converted by `visibleName`, and texts by `visibleText`. */
export function visibleJson(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [visibleName(name), visibleValue(value)]))
}

/** The same for any value. */
export function visibleValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return visibleText(value)
  if (Array.isArray(value)) return value.map(visibleValue)
  return isPlainObject(value) ? visibleJson(value) : value
}

/** Keywords of JSON Schema whose texts people read; `x-zh` holds the same in Chinese. */
const ANNOTATIONS: ReadonlySet<string> = new Set(['title', 'description', '$comment', 'placeholder'])

/** A JSON Schema in which titles and descriptions have no hidden characters; every other part is as it was. */
export function visibleSchema(schema: JsonObject): JsonObject {
  const within = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(within)
    return isPlainObject(value) ? visibleSchema(value) : value
  }
  const shown = (name: string, value: JsonValue): JsonValue => {
    if (name === 'x-zh') return visibleValue(value)
    return typeof value === 'string' && ANNOTATIONS.has(name) ? visibleText(value) : within(value)
  }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, shown(name, value)]))
}
