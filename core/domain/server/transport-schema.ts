import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { Fields } from '../json/fields.ts'
import { pointerToken } from '../json/json-pointer.ts'
import { quoteName } from '../names.ts'
import { wordIn } from '../spelling/words.ts'

/** Keywords that say nothing about which values are valid. */
const ANNOTATIONS = [
  ...['$schema', '$id', '$comment', 'title', 'description', 'examples', 'default', 'deprecated', 'readOnly'],
  ...['writeOnly', 'schemes', 'asksCallers', 'x-zh'],
]
const ASSERTIONS = [
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'format', 'pattern'],
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'maxItems', 'maxProperties'],
]
const KEYWORDS: ReadonlySet<string> = new Set([...ANNOTATIONS, ...ASSERTIONS])
const TYPES: ReadonlySet<JsonValue> = new Set(['string', 'integer', 'number', 'boolean', 'array', 'object'])
/** Formats whose values are read as a whole, whatever the schema says about their members. */
const WHOLE: ReadonlySet<JsonValue | undefined> = new Set(['openapi'])
/** Levels of nesting of a schema. */
const DEPTH = 16

/** Reads the member `name` by its meaning, and adds problems to `fields.errors`. */
export type FormatReader = (fields: Fields, name: string, schema: JsonObject) => void

/** Why a schema cannot describe a transport's fields; undefined when it can. */
export function schemaFault(schema: unknown, at = '#', depth = 0): string | undefined {
  if (!isJsonObject(schema)) return `${at} is no object`
  if (depth > DEPTH) return `${at} is nested too deep`
  const unknown = Object.keys(schema).find(keyword => !KEYWORDS.has(keyword))
  if (WHOLE.has(schema.format)) return undefined
  if (unknown !== undefined) return `${at} has the keyword "${unknown}", which is not among those that core reads`
  if (schema.type !== undefined && !TYPES.has(schema.type)) return `${at}/type is no single type`
  if (typeof schema.pattern === 'string' && !compiles(schema.pattern)) return `${at}/pattern is no regular expression`
  const inner: [string, JsonValue | undefined][] = [['items', schema.items]]
  if (typeof schema.additionalProperties !== 'boolean')
    inner.push(['additionalProperties', schema.additionalProperties])
  if (isJsonObject(schema.properties))
    inner.push(...Object.entries(schema.properties).map(([n, s]) => [`properties/${n}`, s] as [string, JsonValue]))
  for (const [name, part] of inner) {
    const fault = part === undefined ? undefined : schemaFault(part, `${at}/${name}`, depth + 1)
    if (fault) return fault
  }
  return undefined
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

/** Reads the members of an object by its schema; problems are added to `fields.errors`, in the schema's order. */
export function readMembers(schema: JsonObject, fields: Fields, formats: ReadonlyMap<string, FormatReader>): void {
  const required = Array.isArray(schema.required) ? schema.required : []
  for (const [name, part] of Object.entries(isJsonObject(schema.properties) ? schema.properties : {})) {
    if (required.includes(name) ? fields.required(name) : fields.has(name)) {
      readMember(part as JsonObject, fields, name, formats)
    }
  }
}

function readMember(
  schema: JsonObject,
  fields: Fields,
  name: string,
  formats: ReadonlyMap<string, FormatReader>,
): void {
  const format = typeof schema.format === 'string' ? formats.get(schema.format) : undefined
  if (format) return format(fields, name, schema)
  if (Array.isArray(schema.enum)) return readEnum(schema.enum, fields, name)
  switch (schema.type) {
    case 'string':
      return readText(schema, fields, name)
    case 'integer':
      fields.integer(name, ...bounds(schema))
      return
    case 'number':
      return readNumber(schema, fields, name)
    case 'boolean':
      fields.boolean(name)
      return
    case 'array': {
      const list = fields.array(name)
      if (!list || !fields.atMost(name, limit(schema.maxItems)) || !isJsonObject(schema.items)) return
      const items = new Fields(Object.fromEntries(list.entries()), fields.pointer(name), fields.errors)
      for (const index of list.keys()) readMember(schema.items, items, String(index), formats)
      return
    }
    case 'object':
      return readObject(schema, fields, name, formats)
  }
}

function readObject(
  schema: JsonObject,
  fields: Fields,
  name: string,
  formats: ReadonlyMap<string, FormatReader>,
): void {
  const nested = fields.nested(name)
  if (!nested || !fields.atMost(name, limit(schema.maxProperties))) return
  const known = Object.keys(isJsonObject(schema.properties) ? schema.properties : {})
  readMembers(schema, nested, formats)
  const { additionalProperties: others } = schema
  if (others === false) nested.refuseUnknown(known)
  if (!isJsonObject(others)) return
  for (const key of Object.keys(fields.object(name) ?? {})) {
    if (!known.includes(key)) readMember(others, nested, key, formats)
  }
}

function readEnum(values: readonly JsonValue[], fields: Fields, name: string): void {
  if (values.every(value => typeof value === 'string')) return void fields.oneOf(name, values)
  const value = fields.raw(name)
  if (values.some(one => one === value)) return
  fields.problem(name, 'enum', `"${name}" must be one of ${values.map(one => JSON.stringify(one)).join(', ')}`)
}

function readText({ minLength, maxLength, pattern }: JsonObject, fields: Fields, name: string): void {
  const text = fields.text(name)
  if (text === undefined) return
  const length = [...text].length
  if (typeof minLength === 'number' && length < minLength) {
    fields.problem(name, 'length', `"${name}" must have at least ${minLength} characters`)
  } else if (length > limit(maxLength)) {
    fields.problem(name, 'length', `"${name}" must have at most ${limit(maxLength)} characters`)
  } else if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(text)) {
    fields.problem(name, 'format', `"${name}" must match ${quoteName(pattern)}`)
  }
}

function readNumber(schema: JsonObject, fields: Fields, name: string): void {
  const value = fields.raw(name)
  const [least, most] = bounds(schema)
  if (typeof value !== 'number') fields.problem(name, 'type', `"${name}" must be a number`)
  else if (value < least || value > most) {
    fields.problem(name, 'range', `"${name}" is ${value}; it must be a number from ${least} to ${most}`)
  }
}

function bounds({ minimum, maximum }: JsonObject): [number, number] {
  return [
    typeof minimum === 'number' ? minimum : Number.MIN_SAFE_INTEGER,
    typeof maximum === 'number' ? maximum : Number.MAX_SAFE_INTEGER,
  ]
}

function limit(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : Number.POSITIVE_INFINITY
}

/** The value with the words of the schema's enumerations as the schema spells them; see `wordIn`. */
export function withSchemaWords<Value extends JsonValue>(schema: JsonObject, value: Value): Value {
  return respelt(schema, value) as Value
}

function respelt(schema: JsonObject, value: JsonValue): JsonValue {
  if (typeof value === 'string') {
    const words = Array.isArray(schema.enum) ? schema.enum.filter(word => typeof word === 'string') : []
    return wordIn(words, value) ?? value
  }
  if (Array.isArray(value)) {
    const { items } = schema
    return isJsonObject(items) ? value.map(item => respelt(items, item)) : value
  }
  if (!isJsonObject(value)) return value
  const { properties, additionalProperties } = schema
  const inner = Object.entries(value).map(([name, member]) => {
    const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    return [name, isJsonObject(own) ? respelt(own, member) : member] as const
  })
  // If no member changes, the object itself is returned, so that a document of megabytes is not copied.
  return inner.every(([name, member]) => member === value[name]) ? value : Object.fromEntries(inner)
}

/** Calls `visit` for each value that the schema describes, down to values with a format. `pointer` begins with `/`. */
export function visitValues(
  schema: JsonObject | undefined,
  value: JsonValue | undefined,
  visit: (schema: JsonObject, value: JsonValue, pointer: string) => void,
  pointer: string,
): void {
  if (!schema || value === undefined) return
  visit(schema, value, pointer)
  if (schema.format !== undefined || typeof value !== 'object' || value === null) return
  const { properties, additionalProperties, items } = schema
  for (const [name, inner] of Object.entries(value)) {
    const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties
    const part = Array.isArray(value) ? items : own
    if (isJsonObject(part)) visitValues(part, inner, visit, `${pointer}/${pointerToken(name)}`)
  }
}
