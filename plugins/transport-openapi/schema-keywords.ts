import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

/** Types of JSON Schema, and the meaning of other spellings. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
  null: 'null',
  file: 'string',
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  bool: 'boolean',
  date: 'string',
  datetime: 'string',
  list: 'array',
}

const NUMBERS = ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum']
const COUNTS = [
  'maxLength',
  'minLength',
  'maxItems',
  'minItems',
  'maxProperties',
  'minProperties',
  'maxContains',
  'minContains',
]
const TEXTS = ['title', 'format', 'contentEncoding', 'contentMediaType']
const FLAGS = ['uniqueItems', 'deprecated']
const MAX_DESCRIPTION = 2_000
const MAX_EXAMPLE = 200

/** The types of a schema in the spelling of JSON Schema; empty: any. */
export function typesOf({ type, nullable, 'x-nullable': xNullable }: JsonObject): string[] {
  const named = (Array.isArray(type) ? type : [type]).flatMap(name => {
    const word = typeof name === 'string' ? name.toLowerCase() : ''
    const known = Object.hasOwn(TYPES, word) ? TYPES[word] : undefined
    return known === undefined ? [] : [known]
  })
  const types = [...new Set(named)]
  const mayBeNull = nullable === true || xNullable === true
  return mayBeNull && types.length > 0 && !types.includes('null') ? [...types, 'null'] : types
}

/** Keywords that are copied unchanged if their value is valid. */
const SIMPLE: readonly (readonly [names: readonly string[], isMeaningful: (value: JsonValue) => boolean])[] = [
  [TEXTS, value => typeof value === 'string'],
  [NUMBERS, value => Number.isFinite(value)],
  [COUNTS, value => Number.isInteger(value) && Number(value) >= 0],
  [FLAGS, value => value === true],
]

/**
 * The keywords of a schema that hold no other schema, as JSON Schema 2020-12. Only known keywords with valid values are
 * copied: one schema that a validator rejects would make the whole list of tools unusable for its clients.
 */
export function plainKeywords(schema: JsonObject): JsonObject {
  const types = typesOf(schema)
  const written: JsonObject = {}
  if (types.length > 0) written.type = types.length === 1 && types[0] !== undefined ? types[0] : types
  for (const [names, isMeaningful] of SIMPLE) copyWhere(isMeaningful, names, schema, written)
  if (typeof schema.multipleOf === 'number' && schema.multipleOf > 0) written.multipleOf = schema.multipleOf
  if (typeof schema.description === 'string') written.description = cut(schema.description, MAX_DESCRIPTION)
  if (typeof schema.pattern === 'string' && isPattern(schema.pattern)) written.pattern = schema.pattern
  if (schema.default !== undefined) written.default = schema.default
  if (schema.const !== undefined) written.const = schema.const
  writeEnum(schema, types, written)
  writeExamples(schema, written)
  // In OpenAPI 3.0 these two are flags beside their limit.
  moveLimit(schema, written, 'exclusiveMaximum', 'maximum')
  moveLimit(schema, written, 'exclusiveMinimum', 'minimum')
  return written
}

/** A text of at most `characters`, with a mark where it is truncated. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text
  return `${text.slice(0, characters - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function copyWhere(
  isMeaningful: (value: JsonValue) => boolean,
  names: readonly string[],
  schema: JsonObject,
  written: JsonObject,
): void {
  for (const name of names) {
    const value = schema[name]
    if (value !== undefined && isMeaningful(value)) written[name] = value
  }
}

function writeEnum({ enum: values }: JsonObject, types: readonly string[], written: JsonObject): void {
  if (!Array.isArray(values) || values.length === 0) return
  const all = types.includes('null') && !values.includes(null) ? [...values, null] : values
  // A validator rejects a schema with duplicate values.
  written.enum = [...new Map(all.map(value => [JSON.stringify(value), value])).values()]
}

function writeExamples({ example, examples }: JsonObject, written: JsonObject): void {
  const given = Array.isArray(examples) ? examples : example === undefined ? [] : [example]
  const short = given.filter(value => JSON.stringify(value).length <= MAX_EXAMPLE).slice(0, 3)
  if (short.length > 0) written.examples = short
}

function moveLimit(schema: JsonObject, written: JsonObject, exclusive: string, limit: string): void {
  if (schema[exclusive] !== true || typeof written[limit] !== 'number') return
  written[exclusive] = written[limit]
  delete written[limit]
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}

/** True for a schema whose values are bytes rather than text. */
export function isBinary(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema)) return false
  const { format, contentEncoding, contentMediaType, type } = schema
  if (type !== undefined && type !== 'string' && type !== 'file' && !(Array.isArray(type) && type.includes('string')))
    return false
  return (
    type === 'file' ||
    format === 'binary' ||
    contentEncoding === 'base64' ||
    (typeof contentMediaType === 'string' && !/^text\/|json|xml/.test(contentMediaType))
  )
}
