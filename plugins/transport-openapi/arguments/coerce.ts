import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from 'patchbay/contract'
import { isObject } from '../values.ts'
import { findFaults } from './argument-check.ts'

/** Highest number of values that are checked in the arguments of one call; further ones are unchanged. */
const MAX_STEPS = 2_000
const MAX_DEPTH = 16
/** Most alternatives that are tried for one value. */
const MAX_ALTERNATIVES = 32

/**
 * The same arguments with each invalid text replaced by the value that it spells, if the schema allows only one reading: many
 * agents send numbers, booleans, lists and objects as texts. A text that is no value of the wanted type stays, and is rejected
 * later.
 */
export function coerced(schema: JsonObject, given: JsonObject): JsonObject {
  return new Coercion(schema).object(schema, given, 0)
}

class Coercion {
  readonly #definitions: JsonObject
  #steps = MAX_STEPS

  constructor({ $defs }: JsonObject) {
    this.#definitions = isObject($defs) ? $defs : {}
  }

  object(schema: JsonObject, given: JsonObject, depth: number): JsonObject {
    const properties = isObject(schema.properties) ? schema.properties : {}
    const entries = Object.entries(given).map(([name, value]) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties
      return [name, this.#value(own, value, depth + 1)] as const
    })
    return Object.fromEntries(entries)
  }

  #value(schema: JsonValue | undefined, given: JsonValue, depth: number): JsonValue {
    this.#steps -= 1
    if (!isObject(schema) || this.#steps < 0 || depth > MAX_DEPTH) return given
    let value = given
    if (typeof schema.$ref === 'string') value = this.#value(this.#definition(schema.$ref), value, depth + 1)
    if (typeof value === 'string') {
      const reading = readingOf(schema, value)
      // Null is a reading too.
      if (reading !== undefined) value = reading
    }
    if (Array.isArray(value)) value = this.#list(schema, value, depth)
    else if (isObject(value)) value = this.object(schema, value, depth)
    for (const part of listOf(schema.allOf)) value = this.#value(part, value, depth + 1)
    return this.#alternatives(listOf(schema.oneOf), this.#alternatives(listOf(schema.anyOf), value, depth), depth)
  }

  #list({ prefixItems, items }: JsonObject, value: readonly JsonValue[], depth: number): JsonValue[] {
    const first = listOf(prefixItems)
    return value.map((item, index) => this.#value(index < first.length ? first[index] : items, item, depth + 1))
  }

  /** The value that all matching alternatives read in it; unchanged if it matches as it is, or they differ. */
  #alternatives(schemas: readonly JsonValue[], value: JsonValue, depth: number): JsonValue {
    if (schemas.length === 0 || schemas.length > MAX_ALTERNATIVES) return value
    if (schemas.some(schema => this.#fits(schema, value))) return value
    const readings: JsonValue[] = []
    for (const schema of schemas) {
      const read = this.#value(schema, value, depth + 1)
      if (this.#fits(schema, read) && !readings.some(known => isDeepStrictEqual(known, read))) readings.push(read)
    }
    const [only] = readings
    return readings.length === 1 && only !== undefined ? only : value
  }

  #fits(schema: JsonValue, value: JsonValue): boolean {
    this.#steps -= 1
    if (this.#steps < 0) return false
    const root = { properties: { value: schema }, $defs: this.#definitions }
    return findFaults(root, { value }).length === 0
  }

  #definition(ref: string): JsonValue | undefined {
    const name = ref.replace(/^#\/\$defs\//, '')
    return Object.hasOwn(this.#definitions, name) ? this.#definitions[name] : undefined
  }
}

/** The value that a text spells, if the schema accepts that value and not the text; otherwise undefined. */
function readingOf(schema: JsonObject, text: string): JsonValue | undefined {
  const { type, enum: listed, const: only } = schema
  const own = { ...(type === undefined ? {} : { type }), ...(listed === undefined ? {} : { enum: listed }) }
  const about: JsonObject = { ...own, ...(only === undefined ? {} : { const: only }) }
  if (Object.keys(about).length === 0 || fits(about, text)) return undefined
  const value = parsed(text)
  return value !== undefined && fits(about, value) ? value : undefined
}

function fits(schema: JsonObject, value: JsonValue): boolean {
  return findFaults({ properties: { value: schema } }, { value }).length === 0
}

/** The number, boolean, list, object or null that a text spells; undefined for others. Numbers keep their digits. */
function parsed(text: string): JsonValue | undefined {
  const trimmed = text.trim()
  if (/^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true'
  try {
    const value = JSON.parse(trimmed, keepDigits as (key: string, value: unknown) => unknown) as JsonValue
    return typeof value === 'string' ? undefined : value
  } catch {
    return undefined
  }
}

/** Keeps the source text of a number that would be written differently, as in the arguments of a call. */
function keepDigits(_: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  // The TypeScript library does not describe this member of JSON yet.
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source)
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
