import { isObject, type JsonSchema } from './json-value.ts'

/** Kind of field for a schema. `json`: raw JSON, because it is too deep, too large, or of a shape without a field. */
export type FieldKind =
  | 'text'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'enum'
  | 'const'
  | 'array'
  | 'object'
  | 'map'
  | 'choice'
  | 'json'

/** Deeper parts of a schema are raw JSON. */
export const DEEPEST = 6
/** Properties and branches beyond this number are left to raw JSON. */
export const MOST_FIELDS = 200
const MOST_BRANCHES = 20
/** Parts of one schema that are put together, and references that are followed. */
const MOST_STEPS = 32

/** A schema without references, `allOf` and null types at its top, from which a field is drawn. */
export interface Resolved {
  readonly schema: JsonSchema
  readonly kind: FieldKind
  /** Shapes to choose from, if the kind is `choice`. */
  readonly branches: readonly JsonSchema[]
  /** True when null is a value too. */
  readonly nullable: boolean
}

/** Resolves parts of one schema against its root; references lead within it alone. */
export class SchemaReader {
  readonly #root: JsonSchema
  readonly #known = new WeakMap<JsonSchema, Resolved>()

  constructor(root: JsonSchema) {
    this.#root = root
  }

  read(part: unknown): Resolved {
    const schema = isObject(part) ? part : {}
    const known = this.#known.get(schema)
    if (known) return known
    const steps = { left: MOST_STEPS }
    const resolved = this.#resolved(this.#merged(schema, steps), steps)
    this.#known.set(schema, resolved)
    return resolved
  }

  /** Follows references and merges `allOf`; the part itself overrides the merged ones. */
  #merged(part: JsonSchema, steps: { left: number }): JsonSchema {
    let schema = part
    while (typeof schema.$ref === 'string') {
      const target = steps.left-- > 0 ? pointed(this.#root, schema.$ref) : undefined
      const { $ref: _, ...own } = schema
      if (!target) return { ...own, unresolved: true }
      schema = { ...target, ...own }
    }
    if (!Array.isArray(schema.allOf)) return schema
    const { allOf, ...own } = schema
    let merged: JsonSchema = own
    for (const one of allOf) {
      if (!isObject(one) || steps.left-- <= 0) continue
      const other = this.#merged(one, steps)
      merged = {
        ...other,
        ...merged,
        properties: { ...asObject(other.properties), ...asObject(merged.properties) },
        required: [...asList(other.required), ...asList(merged.required)],
      }
    }
    return merged
  }

  #resolved(schema: JsonSchema, steps: { left: number }): Resolved {
    const types = asList(schema.type === undefined || Array.isArray(schema.type) ? schema.type : [schema.type])
    const solid = types.filter(type => type !== 'null')
    const given = [...asList(schema.oneOf), ...asList(schema.anyOf)].filter(isObject)
    const branches = given.filter(({ type }) => type !== 'null')
    const nullable = types.includes('null') || branches.length < given.length || schema.nullable === true
    if (schema.unresolved === true) return { schema, kind: 'json', branches: [], nullable }
    const [only] = branches
    if (branches.length === 1 && only && solid.length === 0 && steps.left-- > 0) {
      const { oneOf: _, anyOf: __, ...own } = schema
      return { ...this.#resolved(this.#merged({ ...only, ...own }, steps), steps), nullable }
    }
    if (branches.length > 1 && schema.properties === undefined && schema.enum === undefined)
      return choiceOf(schema, branches, nullable)
    if (solid.length > 1) {
      const { type: _, ...own } = schema
      return { schema, kind: 'choice', branches: solid.map(type => ({ ...own, type })), nullable }
    }
    return { schema, kind: kindOf(schema, solid[0]), branches: [], nullable }
  }
}

/** The part that a reference such as `#/$defs/point` names. */
function pointed(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (!reference.startsWith('#')) return undefined
  let part: unknown = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(part)) part = part[Number(name)]
    else if (isObject(part) && Object.hasOwn(part, name)) part = part[name]
    else return undefined
  }
  return isObject(part) ? part : undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const asObject = (value: unknown): JsonSchema => (isObject(value) ? value : {})
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Branches that are one value each are a list of values; others are shapes. */
function choiceOf(schema: JsonSchema, branches: readonly JsonSchema[], nullable: boolean): Resolved {
  const constants = branches.map(branch => branch.const)
  if (constants.some(value => value === undefined || typeof value === 'object'))
    return { schema, kind: branches.length > MOST_BRANCHES ? 'json' : 'choice', branches, nullable }
  const names = branches.map(({ title, const: value }) => title ?? value)
  return { schema: { ...schema, enum: constants, enumNames: names }, kind: 'enum', branches: [], nullable }
}

const PLAIN: Readonly<Record<string, FieldKind>> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
}

function kindOf(schema: JsonSchema, given: unknown): FieldKind {
  if (Array.isArray(schema.enum))
    return schema.enum.length > MOST_FIELDS || schema.enum.some(isObject) ? 'json' : 'enum'
  if (schema.const !== undefined) return 'const'
  const type = given ?? (schema.properties !== undefined ? 'object' : schema.items !== undefined ? 'array' : '')
  if (type === 'array') return Array.isArray(schema.items) ? 'json' : 'array'
  return type === 'object' ? objectKind(schema) : (PLAIN[String(type)] ?? 'json')
}

function objectKind(schema: JsonSchema): FieldKind {
  const count = Object.keys(asObject(schema.properties)).length
  if (count > MOST_FIELDS) return 'json'
  if (count > 0 || isObject(schema.properties) || schema.additionalProperties === false) return 'object'
  return isObject(schema.additionalProperties) ? 'map' : 'json'
}

/** A property of an object as the form lists it. */
export interface Property {
  readonly name: string
  readonly schema: unknown
  readonly required: boolean
}

/** Properties of an object, the required ones first. */
export function propertiesOf(schema: JsonSchema): readonly Property[] {
  const required = new Set(asList(schema.required))
  const all = Object.entries(asObject(schema.properties)).map(([name, part]) => ({
    name,
    schema: part,
    required: required.has(name),
  }))
  return [...all.filter(one => one.required), ...all.filter(one => !one.required)]
}
