import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { Discriminators, Kinds } from './kinds.ts'
import { CannotBuild, type References } from './references.ts'
import { isBinary, plainKeywords, typesOf } from './schema-keywords.ts'

/** For the schemas of one operation, after references are resolved. */
const MAX_DEPTH = 32
const MAX_NODES = 50_000

const ONE = ['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'unevaluatedProperties']
const MANY = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const NAMED = ['properties', 'patternProperties', 'dependentSchemas']
const ANNOTATIONS: ReadonlySet<string> = new Set(['title', 'description', 'default', 'deprecated', 'examples'])

/** The operation is too large in this mode; the other one may do. */
export class TooMuch extends CannotBuild {}

/** Settings and limits of a `SchemaWriter`. */
export interface SchemaWriterOptions {
  /** `inlined`: references are replaced by their targets, except in cycles. `shared`: all stay references. */
  readonly mode: 'inlined' | 'shared'
  /** An input omits read-only members, an output write-only ones. */
  readonly direction: 'input' | 'output'
  /** Number of values that may still be written, for all operations together. */
  readonly budget: { nodes: number }
  /** Writes the kinds of schemas with a discriminator as alternatives; absent: such schemas are written alone. */
  readonly discriminators?: Discriminators | undefined
}

/**
 * Place of a schema: directly after a reference, in the `allOf` of such a schema, or elsewhere. Schemas in such an `allOf` are
 * inherited, so a base is written there without its kinds, which would refer back to the heir.
 */
type Place = 'target' | 'inherited' | 'elsewhere'

/** Added to the reference of a base that is written without its kinds; real references do not contain it. */
const WITHOUT_KINDS = ' base'

/**
 * Writes the schemas of one operation as self-contained JSON Schema 2020-12. Throws CannotBuild for a reference without
 * a target, TooMuch beyond the limits.
 */
export class SchemaWriter {
  readonly #references: References
  readonly #options: SchemaWriterOptions
  readonly #names = new Map<string, string>()
  #nodes = 0
  /** True after a reference was written, so that the other mode would give another text. */
  referred = false

  constructor(references: References, options: SchemaWriterOptions) {
    this.#references = references
    this.#options = options
  }

  write(schema: JsonValue | undefined): JsonObject | boolean {
    return this.#write(schema ?? true, 1, [])
  }

  /** The targets of `#/$defs/…` in the written schemas; undefined if there are none. */
  definitions(): JsonObject | undefined {
    if (this.#names.size === 0) return undefined
    const written: JsonObject = {}
    // Writing one may add others: a Map also visits entries that are added meanwhile.
    for (const [ref, name] of this.#names) written[name] = this.#target(ref, 1, [])
    return written
  }

  #write(
    schema: JsonValue,
    depth: number,
    open: readonly string[],
    place: Place = 'elsewhere',
    ref?: string,
  ): JsonObject | boolean {
    this.#spend(depth)
    if (typeof schema === 'boolean') return schema
    if (!isJsonObject(schema)) return {}
    if (typeof schema.$ref === 'string') return this.#reference(schema, schema.$ref, depth, open, place)
    const written = this.#options.direction === 'input' && isBinary(schema) ? asBase64(schema) : plainKeywords(schema)
    this.#nested(schema, written, depth, open, place)
    const kinds = ref?.endsWith(WITHOUT_KINDS) ? undefined : this.#options.discriminators?.of(schema, ref)
    if (kinds) this.#kinds(kinds, written, depth, open)
    const mayBeNull = (schema.nullable === true || schema['x-nullable'] === true) && typesOf(schema).length === 0
    return mayBeNull && MANY.some(name => written[name] !== undefined)
      ? { anyOf: [written, { type: 'null' }] }
      : written
  }

  #reference(
    schema: JsonObject,
    wanted: string,
    depth: number,
    open: readonly string[],
    place: Place,
  ): JsonObject | boolean {
    this.referred = true
    const { $ref: _, ...rest } = schema
    const beside = this.#write(rest, depth, open)
    const ref = place === 'inherited' && this.#hasKinds(wanted) ? wanted + WITHOUT_KINDS : wanted
    const shared = this.#options.mode === 'shared' || open.includes(ref)
    const target = shared ? { $ref: `#/$defs/${this.#nameOf(ref)}` } : this.#target(ref, depth + 1, open)
    if (typeof beside === 'boolean' || Object.keys(beside).length === 0) return target
    if (typeof target === 'boolean') return target ? beside : false
    const onlyAnnotations = Object.keys(beside).every(name => ANNOTATIONS.has(name))
    return shared || onlyAnnotations ? { ...target, ...beside } : { ...beside, allOf: [target, ...list(beside.allOf)] }
  }

  #target(ref: string, depth: number, open: readonly string[]): JsonObject | boolean {
    const target = this.#references.resolve(withoutMark(ref))
    return this.#write(target, depth, [...open, ref], 'target', ref)
  }

  #hasKinds(ref: string): boolean {
    const schema = this.#references.follow({ $ref: ref })
    return schema !== undefined && this.#options.discriminators?.of(schema, ref) !== undefined
  }

  /** Adds the kinds as alternatives. Kinds with values exclude one another, as `oneOf` demands. */
  #kinds({ member, kinds }: Kinds, written: JsonObject, depth: number, open: readonly string[]): void {
    const alternatives = kinds.map(({ ref, values }): JsonObject => {
      this.#spend(depth + 1)
      const schema = ref === undefined ? true : this.#reference({}, ref, depth + 1, open, kindPlace(ref, open))
      const [first, ...more] = values
      if (first === undefined) return { title: nameIn(ref ?? ''), allOf: [schema] }
      return {
        ...(schema === true ? {} : { allOf: [schema] }),
        properties: { [member]: more.length === 0 ? { const: first } : { enum: [...values] } },
        required: [member],
      }
    })
    written[kinds.every(({ values }) => values.length > 0) ? 'oneOf' : 'anyOf'] = alternatives
  }

  #nested(schema: JsonObject, written: JsonObject, depth: number, open: readonly string[], place: Place): void {
    const one = (value: JsonValue): JsonObject | boolean => this.#write(value, depth + 1, open)
    this.#combined(schema, written, depth, open, place)
    for (const name of ONE) {
      const value = schema[name]
      if (isSchema(value)) written[name] = one(value)
    }
    const { items } = schema
    if (Array.isArray(items)) {
      if (items.length > 0) written.prefixItems = items.map(one)
    } else if (isSchema(items)) written.items = one(items)
    for (const name of NAMED) {
      const value = schema[name]
      if (!isJsonObject(value)) continue
      const kept = Object.entries(value).filter(([key, member]) => this.#isKept(name, key, member))
      written[name] = Object.fromEntries(kept.map(([key, member]) => [key, one(member)]))
    }
    this.#required(schema, written)
  }

  #combined(schema: JsonObject, written: JsonObject, depth: number, open: readonly string[], place: Place): void {
    for (const name of MANY) {
      const inner = name === 'allOf' && place !== 'elsewhere' ? 'inherited' : 'elsewhere'
      const items = list(schema[name]).map(item => this.#write(item, depth + 1, open, inner))
      if (items.length > 0) written[name] = items
    }
  }

  #isKept(keyword: string, key: string, member: JsonValue): boolean {
    if (keyword === 'patternProperties') return isUsablePattern(key)
    return keyword !== 'properties' || !this.#leftOut(member)
  }

  #required({ required, properties }: JsonObject, written: JsonObject): void {
    if (!Array.isArray(required)) return
    const known = isJsonObject(properties) ? properties : {}
    const names = required.filter(
      name => typeof name === 'string' && !(Object.hasOwn(known, name) && this.#leftOut(known[name])),
    )
    if (names.length > 0) written.required = [...new Set(names)]
  }

  #leftOut(member: JsonValue | undefined): boolean {
    const mark = this.#options.direction === 'input' ? 'readOnly' : 'writeOnly'
    if (isJsonObject(member) && member[mark] === true) return true
    return this.#references.follow(member)?.[mark] === true
  }

  #nameOf(ref: string): string {
    const known = this.#names.get(ref)
    if (known !== undefined) return known
    const wanted =
      nameIn(ref)
        .replace(/[^A-Za-z0-9_.-]+/g, '_')
        .slice(0, 64) || 'schema'
    const taken = new Set(this.#names.values())
    let name = wanted
    for (let count = 2; taken.has(name); count += 1) name = `${wanted}_${count}`
    this.#names.set(ref, name)
    return name
  }

  #spend(depth: number): void {
    this.#nodes += 1
    this.#options.budget.nodes -= 1
    if (depth > MAX_DEPTH) throw new TooMuch(`its schemas are nested deeper than ${MAX_DEPTH} levels`)
    if (this.#nodes > MAX_NODES) throw new TooMuch(`its schemas have more than ${MAX_NODES} parts`)
    if (this.#options.budget.nodes < 0) throw new TooMuch('the schemas of the document are too large in all')
  }
}

function withoutMark(ref: string): string {
  return ref.endsWith(WITHOUT_KINDS) ? ref.slice(0, -WITHOUT_KINDS.length) : ref
}

/** A base may be one of its own kinds, without more members. */
function kindPlace(ref: string, open: readonly string[]): Place {
  return open.at(-1) === ref ? 'inherited' : 'elsewhere'
}

function nameIn(ref: string): string {
  return ref.split('/').at(-1) ?? ''
}

function isSchema(value: JsonValue | undefined): value is JsonObject | boolean {
  return typeof value === 'boolean' || isJsonObject(value)
}

function asBase64(schema: JsonObject): JsonObject {
  const { format: _, contentMediaType: _type, ...rest } = plainKeywords({ ...schema, type: 'string' })
  return { ...rest, contentEncoding: 'base64' }
}

function isUsablePattern(pattern: string): boolean {
  return plainKeywords({ pattern }).pattern !== undefined
}

function list(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : []
}
