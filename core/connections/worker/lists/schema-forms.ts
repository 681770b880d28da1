import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { isPlainObject, parseExact } from '../../../domain/json/exact-json.ts'

/** Names under which other protocols list the arguments of a tool: of Anthropic's API, and of OpenAI's functions. */
const OTHER_NAMES = ['input_schema', 'inputschema', 'input-schema', 'parameters'] as const
const TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'])
/** Deepest part of a schema whose types are rewritten. */
const MOST_DEPTH = 64

/** The tool with its arguments under `inputSchema`; the same object where they are there already. */
export function withInputSchema(tool: JsonObject): JsonObject {
  if (tool.inputSchema !== undefined && tool.inputSchema !== null) return tool
  const name = OTHER_NAMES.find(other => isSchemaLike(tool[other]))
  if (name === undefined) return tool.inputSchema === undefined ? { ...tool, inputSchema: null } : tool
  const { [name]: schema = null, ...rest } = tool
  return { ...rest, inputSchema: schema }
}

function isSchemaLike(value: JsonValue | undefined): boolean {
  return isJsonObject(value) || typeof value === 'string' || (Array.isArray(value) && value.length === 0)
}

/**
 * A schema that is written as a JSON text, as the empty list that PHP makes of an empty object, or with its types in another
 * case. Any other value is returned unchanged.
 */
export function plainSchema(written: JsonValue): JsonValue {
  const value = typeof written === 'string' ? parsed(written) : written
  if (Array.isArray(value)) return value.length === 0 ? {} : value
  return isPlainObject(value) ? withSmallTypes(value, 0) : value
}

/** The object that a text is in JSON; the text itself where it is none. */
function parsed(text: string): JsonValue {
  try {
    const value = parseExact(text)
    return isPlainObject(value) || Array.isArray(value) ? value : text
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}

/** Members whose parts are schemas; an `enum` or an `example` is data. */
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions'] as const
const SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains'] as const
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const

/** The schema with `"STRING"` and `"Object"` in small letters; the same object where nothing changes. */
function withSmallTypes(schema: JsonObject, depth: number): JsonObject {
  if (depth > MOST_DEPTH) return schema
  const changes: Record<string, JsonValue> = {}
  const note = (name: string, value: JsonValue): void => {
    if (value !== schema[name]) changes[name] = value
  }
  if (schema.type !== undefined) note('type', smallType(schema.type))
  const inner = (value: JsonValue): JsonValue => (isPlainObject(value) ? withSmallTypes(value, depth + 1) : value)
  for (const name of MAPS) if (isPlainObject(schema[name])) note(name, mapped(schema[name], inner))
  for (const name of SCHEMAS) if (isPlainObject(schema[name])) note(name, inner(schema[name]))
  for (const name of LISTS) if (Array.isArray(schema[name])) note(name, listed(schema[name], inner))
  return Object.keys(changes).length === 0 ? schema : { ...schema, ...changes }
}

function mapped(map: JsonObject, change: (value: JsonValue) => JsonValue): JsonObject {
  const entries = Object.entries(map).map(([name, value]) => [name, change(value)] as const)
  return entries.every(([name, value]) => value === map[name]) ? map : Object.fromEntries(entries)
}

function listed(list: JsonValue[], change: (value: JsonValue) => JsonValue): JsonValue[] {
  const changed = list.map(change)
  return changed.every((value, at) => value === list[at]) ? list : changed
}

function smallType(type: JsonValue): JsonValue {
  if (Array.isArray(type)) return listed(type, smallType)
  const small = typeof type === 'string' ? type.toLowerCase() : ''
  return TYPES.has(small) ? small : type
}
