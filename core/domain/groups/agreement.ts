import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { canonical } from '../json/canonical-json.ts'
import { pointerToken } from '../json/json-pointer.ts'

/** Keywords of a schema that only describe. */
const DESCRIBING: ReadonlySet<string> = new Set([
  ...['title', 'description', 'examples', '$comment', '$schema', '$id', 'deprecated', 'readOnly', 'writeOnly'],
])
/** Keywords whose members are schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
])
/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['const', 'default'])
/** Keywords with a list whose order means nothing. */
const LISTS: ReadonlySet<string> = new Set(['required', 'type', 'enum'])
/** Keywords that allow everything when they are empty, or true. */
const OPTIONAL: ReadonlySet<string> = new Set(['required', '$defs', 'definitions', 'additionalProperties'])
/** Levels of a schema; deeper parts are compared as they are written. */
const DEEPEST = 64
const SHOWN_CHARACTERS = 80
/** Larger schemas are compared as a whole: to find the places takes many passes. */
const MOST_CHARACTERS = 256 * 1024

/** A place at which two schemas differ; absent: nothing is there. */
export interface SchemaDifference {
  /** JSON Pointer into the schema. */
  readonly at: string
  readonly one?: string
  readonly other?: string
}

/** The part of a schema that decides which values it allows: without words for readers, lists sorted, and without what is absent elsewhere. */
export function comparable(schema: JsonValue | undefined, depth = 0): JsonValue {
  if (Array.isArray(schema)) return schema.map(each => comparable(each, depth + 1))
  if (!isJsonObject(schema) || depth > DEEPEST) return schema ?? {}
  const kept = Object.entries(schema).filter(([name, value]) => !DESCRIBING.has(name) && !isVoid(name, value))
  // An object without `properties` has none.
  const none: JsonObject = schema.type === 'object' ? { properties: {} } : {}
  return { ...none, ...Object.fromEntries(kept.map(([name, value]) => [name, comparablePart(name, value, depth)])) }
}

function comparablePart(name: string, value: JsonValue, depth: number): JsonValue {
  if (DATA.has(name)) return value
  if (NAMED.has(name) && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, comparable(part, depth + 1)]))
  if (!LISTS.has(name) || !Array.isArray(value)) return comparable(value, depth)
  const [only] = value
  if (name === 'type' && value.length === 1 && only !== undefined) return only
  return value.toSorted((left, right) => (canonical(left) < canonical(right) ? -1 : 1))
}

/** True for a keyword that changes nothing, as servers that make their schemas in other ways leave it out. */
function isVoid(name: string, value: JsonValue): boolean {
  return OPTIONAL.has(name) && (value === true || (typeof value === 'object' && Object.keys(value ?? {}).length === 0))
}

/** The first places, at most `most`, at which two comparable schemas differ. */
export function differences(one: JsonValue, other: JsonValue, most = 5): readonly SchemaDifference[] {
  if (canonical(one).length + canonical(other).length > MOST_CHARACTERS) return [{ at: '' }]
  const found: SchemaDifference[] = []
  compare(one, other, '', found, most)
  return found
}

function compare(
  one: JsonValue | undefined,
  other: JsonValue | undefined,
  at: string,
  found: SchemaDifference[],
  most: number,
): void {
  if (found.length >= most || (one !== undefined && other !== undefined && canonical(one) === canonical(other))) return
  if (isJsonObject(one) && isJsonObject(other)) {
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)]))
      if (canonical(one[name] ?? null) !== canonical(other[name] ?? null))
        compare(own(one, name), own(other, name), `${at}/${pointerToken(name)}`, found, most)
    return
  }
  found.push({
    at,
    ...(one === undefined ? {} : { one: shown(one) }),
    ...(other === undefined ? {} : { other: shown(other) }),
  })
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function shown(value: JsonValue): string {
  const text = canonical(value)
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}
