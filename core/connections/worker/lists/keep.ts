import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { asDouble, isPlainObject } from '../../../domain/json/exact-json.ts'

/** The part of a value that can stay in a list or a result: all of it if valid, less if not, undefined for nothing. */
export type Keep = (value: JsonValue) => JsonValue | undefined

export const text: Keep = value => (typeof value === 'string' ? value : undefined)
export const flag: Keep = value => (typeof value === 'boolean' ? value : undefined)
export const size: Keep = value => (asDouble(value) === undefined ? undefined : value)
export const object: Keep = value => (isPlainObject(value) ? value : undefined)
const priority: Keep = value => {
  const number = asDouble(value)
  return number !== undefined && number >= 0 && number <= 1 ? value : undefined
}
/** RFC 3339, with the offset that MCP requires. */
const time: Keep = value =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/.test(value) &&
  !Number.isNaN(Date.parse(value))
    ? value
    : undefined

/** One of these texts. */
export function oneOf(...known: readonly string[]): Keep {
  return value => (typeof value === 'string' && known.includes(value) ? value : undefined)
}

/** A list of those items that the rule keeps. */
export function listOf(keep: Keep): Keep {
  return value => {
    if (!Array.isArray(value)) return undefined
    const kept = value.flatMap(item => keep(item) ?? [])
    return kept.length === value.length && kept.every((item, at) => item === value[at]) ? value : kept
  }
}

/** Members without a rule stay as they are; without one of `needed` the whole object is dropped. */
export function shape(rules: Readonly<Record<string, Keep>>, needed: readonly string[] = []): Keep {
  return value => {
    if (!isPlainObject(value)) return undefined
    const { item } = mend(value, rules)
    return needed.every(name => item[name] !== undefined) ? item : undefined
  }
}

/** The object with each member as its rule keeps it, and the names of those that changed; the same object when none did. */
export function mend(
  item: JsonObject,
  rules: Readonly<Record<string, Keep>>,
): { readonly item: JsonObject; readonly normalized: string[] } {
  const normalized: string[] = []
  let kept = item
  for (const name in rules) {
    const value = item[name]
    if (value === undefined) continue
    const stays = rules[name]?.(value)
    if (stays === value) continue
    if (kept === item) kept = { ...item }
    normalized.push(name)
    if (stays === undefined) delete kept[name]
    else kept[name] = stays
  }
  return { item: kept, normalized }
}

const ICONS = listOf(shape({ src: text, mimeType: text, sizes: listOf(text), theme: oneOf('light', 'dark') }, ['src']))
/** The optional members of everything that is listed. */
export const COMMON = { title: text, description: text, icons: ICONS, _meta: object }
export const annotations = shape({ audience: listOf(oneOf('user', 'assistant')), priority, lastModified: time })
