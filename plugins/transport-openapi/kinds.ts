import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

/** One alternative of a schema with a discriminator. */
export interface Kind {
  /** Its schema; undefined when the document does not have it, so that only the members of the base are known. */
  readonly ref: string | undefined
  /** The values of the discriminating member; empty when any value may belong to this kind. */
  readonly values: readonly string[]
}

/** The alternatives of one schema. */
export interface Kinds {
  /** The name of the member that distinguishes them. */
  readonly member: string
  readonly kinds: readonly Kind[]
}

const SCHEMAS = '#/components/schemas/'

/** Finds the kinds of schemas that have a discriminator and list no alternatives by themselves. */
export class Discriminators {
  readonly #schemas: JsonObject
  #heirs: ReadonlyMap<string, readonly string[]> | undefined
  /** True when no schema of the components has a discriminator. */
  readonly isEmpty: boolean

  constructor({ components }: JsonObject) {
    const schemas = isJsonObject(components) ? components.schemas : undefined
    this.#schemas = isJsonObject(schemas) ? schemas : {}
    this.isEmpty = !Object.values(this.#schemas).some(schema => isJsonObject(schema) && schema.discriminator)
  }

  /**
   * The kinds of a schema: those of its mapping, and schemas that inherit from it by `allOf`. `ref`: its own reference, if
   * it was reached by one. Undefined when it has none, or lists its alternatives itself.
   */
  of({ discriminator, oneOf, anyOf }: JsonObject, ref: string | undefined): Kinds | undefined {
    if (!isJsonObject(discriminator) || hasItems(oneOf) || hasItems(anyOf)) return undefined
    const { propertyName, mapping } = discriminator
    if (typeof propertyName !== 'string') return undefined
    const heirs = ref === undefined ? [] : this.#heirsOf(ref)
    if (!isJsonObject(mapping) || Object.keys(mapping).length === 0) {
      // The values are not certain: some documents give them in members of their own.
      const kinds = [...heirs, ...(ref === undefined ? [] : [ref])].map(one => ({ ref: one, values: [] }))
      return heirs.length === 0 ? undefined : { member: propertyName, kinds }
    }
    const values = new Map<string | undefined, string[]>()
    const add = (target: string | undefined, value: string): void => {
      const known = values.get(target)
      if (known) known.push(value)
      else values.set(target, [value])
    }
    for (const [value, target] of Object.entries(mapping)) add(this.#target(target), value)
    for (const heir of heirs) if (!values.has(heir)) add(heir, heir.slice(SCHEMAS.length))
    return { member: propertyName, kinds: [...values].map(([target, of]) => ({ ref: target, values: of })) }
  }

  /** The reference that a mapping means, which is a reference or the name of a schema. */
  #target(target: JsonValue): string | undefined {
    if (typeof target !== 'string') return undefined
    const name = target.startsWith(SCHEMAS) ? target.slice(SCHEMAS.length) : target
    return Object.hasOwn(this.#schemas, name) ? SCHEMAS + name : undefined
  }

  #heirsOf(ref: string): readonly string[] {
    this.#heirs ??= heirsIn(this.#schemas)
    return this.#heirs.get(ref) ?? []
  }
}

/** By the reference of a schema, those of the schemas that name it in their `allOf`. */
function heirsIn(schemas: JsonObject): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const [name, schema] of Object.entries(schemas)) {
    if (!isJsonObject(schema) || !Array.isArray(schema.allOf)) continue
    for (const part of schema.allOf) {
      if (!isJsonObject(part) || typeof part.$ref !== 'string') continue
      const known = found.get(part.$ref)
      if (known) known.push(SCHEMAS + name)
      else found.set(part.$ref, [SCHEMAS + name])
    }
  }
  return found
}

function hasItems(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length > 0
}
