import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import { isPlainObject } from '../json/exact-json.ts'
import { valueAt } from '../json/json-pointer.ts'

/** Form of the output schemas of a server's tools: as listed by the server, in a form that fits every object, or omitted. */
export type OutputSchemas = 'strict' | 'loose' | 'off'

const TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null']
/** Keywords that only describe, or that references need. */
const KEPT: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'contentMediaType'],
  ...['contentEncoding', '$schema', '$id', '$anchor', '$dynamicAnchor', '$dynamicRef', '$ref', '$comment'],
])
const ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'unevaluatedProperties'])
/**
 * Keywords with lists of schemas, and their replacements: `oneOf` becomes `anyOf`, since more than one loosened schema would
 * match.
 */
const MANY: ReadonlyMap<string, string> = new Map([
  ['allOf', 'allOf'],
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
  ['prefixItems', 'prefixItems'],
])
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
const MOST_EXAMPLES = 20
/** Levels of a schema; deeper parts are not described. */
const MAX_DEPTH = 64

/**
 * The mode of a server: its own setting; else `loose` for an HTTP API, whose document often describes other answers than
 * the API gives, and `strict` for an MCP server.
 */
export function outputSchemasOf({
  transport,
  outputSchemas,
}: Pick<ServerSettings, 'transport' | 'outputSchemas'>): OutputSchemas {
  return outputSchemas ?? (transport === 'openapi' ? 'loose' : 'strict')
}

/** True for a tool's JSON text that may have an output schema. A text that only mentions one is rarely true as well. */
export function mayHaveOutputSchema({ text }: { readonly text: string }): boolean {
  return text.includes('"outputSchema"')
}

/**
 * Returns the same schema as a description that no object violates: nothing is required, each value may be null or of another
 * type than the stated one (which comes first), and listed values become examples. Clients that validate reject a whole result
 * for one wrong member, and the model would not see it.
 */
export function looseSchema(schema: JsonObject): JsonObject {
  const references: JsonObject[] = []
  const loosened = loosen(schema, references, 1)
  if (schema.type === 'object') loosened.type = 'object'
  for (const holder of references) if (!leadsSomewhere(holder.$ref, loosened)) delete holder.$ref
  return loosened
}

function loosen(value: JsonValue, references: JsonObject[], depth: number): JsonObject {
  const loosened: JsonObject = {}
  if (!isPlainObject(value) || depth > MAX_DEPTH) return loosened
  const one = (part: JsonValue): JsonObject => loosen(part, references, depth + 1)
  for (const [name, part] of Object.entries(value)) {
    const written = loosePart(name, part, one)
    if (written === undefined) continue
    const as = MANY.get(name) ?? name
    loosened[as] = Array.isArray(written) ? [...listOf(loosened[as]), ...written] : written
  }
  const listed = value.const === undefined ? value.enum : [value.const]
  if (Array.isArray(listed) && loosened.examples === undefined) loosened.examples = listed.slice(0, MOST_EXAMPLES)
  if (typeof value.$ref === 'string') references.push(loosened)
  return loosened
}

/** One keyword of a schema; undefined when it is left out. */
function loosePart(name: string, part: JsonValue, one: (part: JsonValue) => JsonObject): JsonValue | undefined {
  if (KEPT.has(name)) return part
  if (name === 'type') return anyType(part)
  if (MANY.has(name)) return Array.isArray(part) ? part.map(one) : undefined
  if (!isPlainObject(part)) return undefined
  if (ONE.has(name)) return one(part)
  return NAMED.has(name) ? Object.fromEntries(Object.entries(part).map(([key, of]) => [key, one(of)])) : undefined
}

/** The types that a value should have, then all others. */
function anyType(type: JsonValue): JsonValue {
  const named = (Array.isArray(type) ? type : [type]).filter(one => typeof one === 'string')
  return [...new Set([...named, ...TYPES])]
}

/** True when a reference resolves: a dangling one would make a validator reject the schema. */
function leadsSomewhere(ref: JsonValue | undefined, root: JsonObject): boolean {
  if (typeof ref !== 'string' || !ref.startsWith('#/')) return true
  try {
    return valueAt(root, decodeURIComponent(ref.slice(1))) !== undefined
  } catch {
    return false
  }
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : []
}
