import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { asDouble, isPlainObject } from '../../../domain/json/exact-json.ts'

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'])

type Check = (value: JsonValue) => boolean
const isText: Check = value => typeof value === 'string'
const isNumber: Check = value => asDouble(value) !== undefined
const isFlag: Check = value => typeof value === 'boolean'
const isList: Check = value => Array.isArray(value)
const isSchema: Check = value => typeof value === 'boolean' || isPlainObject(value)
const isMap: Check = value => isPlainObject(value)
const isPattern: Check = value => typeof value === 'string' && isRegExp(value)

/** The values that validators take for a keyword; of another value they refuse the schema. */
const KEYWORDS: Readonly<Record<string, Check>> = {
  type: value => (Array.isArray(value) ? value.every(one => TYPES.has(one)) : TYPES.has(value)),
  pattern: isPattern,
  format: isText,
  $ref: isText,
  enum: isList,
  required: isList,
  uniqueItems: isFlag,
  properties: isMap,
  patternProperties: value => isPlainObject(value) && Object.keys(value).every(isRegExp),
  items: value => isSchema(value) || Array.isArray(value),
  ...named(isNumber, 'maximum minimum exclusiveMaximum exclusiveMinimum multipleOf'),
  ...named(isNumber, 'maxLength minLength maxItems minItems maxProperties minProperties'),
  ...named(isSchema, 'additionalProperties additionalItems propertyNames contains not if then else'),
  ...named(isList, 'allOf anyOf oneOf'),
}
/** Keywords with a schema for each name, and with a list of schemas. */
const MAPS: readonly string[] = ['properties', 'patternProperties']
const LISTS: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'items']
const ONE: readonly string[] =
  'items additionalProperties additionalItems propertyNames contains not if then else'.split(' ')

/**
 * Why clients cannot use a JSON Schema: with the first such schema most of them refuse a whole list of tools. Undefined for one that
 * they can compile. References are followed within the schema alone.
 */
export function schemaFault(root: JsonObject): string | undefined {
  const seen = new Set<JsonObject>()
  const open: (readonly [path: string, schema: JsonValue])[] = [['#', root]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [path, schema] = next
    if (typeof schema === 'boolean') continue
    if (!isPlainObject(schema)) return `${path} is no schema`
    if (seen.has(schema)) continue
    seen.add(schema)
    const keyword = wrongKeyword(schema)
    if (keyword !== undefined) return `"${keyword}" at ${path} is not valid`
    const { $ref } = schema
    if (typeof $ref === 'string') {
      const target = referred(root, $ref)
      if (target === undefined) return `"$ref" at ${path} leads nowhere`
      open.push([`${path}/$ref`, target])
    }
    open.push(...subschemas(path, schema))
  }
  return undefined
}

function wrongKeyword(schema: JsonObject): string | undefined {
  const wrong = Object.entries(schema).find(([keyword, value]) => {
    return Object.hasOwn(KEYWORDS, keyword) && KEYWORDS[keyword]?.(value) === false
  })
  return wrong?.[0]
}

function subschemas(path: string, schema: JsonObject): (readonly [string, JsonValue])[] {
  const found: (readonly [string, JsonValue])[] = []
  const add = (at: string, value: JsonValue | undefined): void => {
    if (value !== undefined) found.push([`${path}/${at}`, value])
  }
  for (const keyword of MAPS) {
    const value = schema[keyword]
    if (isPlainObject(value)) for (const [name, one] of Object.entries(value)) add(`${keyword}/${name}`, one)
  }
  for (const keyword of LISTS) {
    const value = schema[keyword]
    if (Array.isArray(value)) for (const [at, one] of value.entries()) add(`${keyword}/${at}`, one)
  }
  for (const keyword of ONE) if (!Array.isArray(schema[keyword])) add(keyword, schema[keyword])
  return found
}

/** The schema that a reference names: the root, or a JSON Pointer within it. Names of anchors and ids are taken as they are. */
function referred(root: JsonObject, ref: string): JsonValue | undefined {
  if (ref === '#' || ref === '') return root
  if (!ref.startsWith('#/')) return hasName(root, ref) ? true : undefined
  let value: JsonValue | undefined = root
  for (const token of ref.slice(2).split('/')) {
    const key = decoded(token)
    if (Array.isArray(value)) value = value[Number(key)]
    else if (isPlainObject(value) && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return token
  }
}

/** True when a part of the schema has this name. */
function hasName(root: JsonObject, ref: string): boolean {
  const anchor = ref.startsWith('#') ? ref.slice(1) : undefined
  const open: JsonValue[] = [root]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) open.push(...value)
    if (!isPlainObject(value)) continue
    const { $id, $anchor } = value
    if (anchor === undefined ? $id === ref : $anchor === anchor || $id === ref) return true
    open.push(...Object.values(value))
  }
  return false
}

function isRegExp(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

function named(check: Check, names: string): Record<string, Check> {
  return Object.fromEntries(names.split(' ').map(name => [name, check]))
}
