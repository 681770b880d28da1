import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { type OpenApiPlace, openApiPlace } from 'patchbay/transport-kit'

const MAX_HOPS = 32
/** Most values that are searched for references; after that, a broken one is found when it is used. */
const MAX_VISITS = 20_000_000
/** Missing schemas that are named for one operation. */
const MAX_NAMED = 10
/** References to schemas. */
const SCHEMA = /^#\/(?:components\/schemas|definitions|\$defs)\//

/** Why one operation cannot be offered; the others are not affected. */
export class CannotBuild extends Error {
  override readonly name = 'CannotBuild'
}

/** Resolves `#/…` references inside one document, and nothing else. */
export class References {
  readonly #root: JsonObject
  readonly #known = new Map<string, JsonValue | undefined>()
  #broken: ReadonlyMap<string, string> | undefined

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** The target of a reference. A schema that the document does not have is one of any value. Throws CannotBuild for another one. */
  resolve(ref: string): JsonValue {
    if (!this.#known.has(ref)) this.#known.set(ref, this.#find(ref) ?? (SCHEMA.test(ref) ? {} : undefined))
    const found = this.#known.get(ref)
    if (found !== undefined) return found
    throw missing(ref)
  }

  /** An object after its references are resolved; undefined for any other value. */
  follow(value: JsonValue | undefined): JsonObject | undefined {
    let at = value
    for (let hops = 0; isJsonObject(at) && typeof at.$ref === 'string'; hops += 1) {
      if (hops >= MAX_HOPS)
        throw new CannotBuild(`its reference ${JSON.stringify(at.$ref.slice(0, 128))} leads nowhere`)
      at = this.resolve(at.$ref)
    }
    return isJsonObject(at) ? at : undefined
  }

  /**
   * Throws CannotBuild when a value refers, directly or indirectly, to a missing target. References in examples and
   * other data are ignored.
   */
  prove(value: JsonValue): void {
    const [first] = this.#missingIn(value)
    if (first !== undefined) throw missing(first)
  }

  /** The same, but `lost` is called with the reason in words for a schema that is missing, since any value can take its place. */
  proveButSchemas(value: JsonValue, lost: (reason: string) => void): void {
    const found = this.#missingIn(value)
    const other = found.find(ref => !SCHEMA.test(ref))
    if (other !== undefined) throw missing(other)
    for (const ref of found.slice(0, MAX_NAMED)) lost(missing(ref).message)
  }

  /** Throws CannotBuild when a value is a reference that leads to a missing target. */
  proveTarget(value: JsonValue | undefined): void {
    let at = value
    for (let hops = 0; isJsonObject(at) && typeof at.$ref === 'string' && hops < MAX_HOPS; hops += 1) {
      const target = this.#find(at.$ref)
      if (target === undefined) throw missing(at.$ref)
      at = target
    }
  }

  /** The missing targets to which a value refers. */
  #missingIn(value: JsonValue): readonly string[] {
    this.#broken ??= this.#findBroken()
    if (this.#broken.size === 0) return []
    return [...new Set(refsIn(value).flatMap(ref => this.#broken?.get(ref) ?? []))]
  }

  /** Each reference that leads to a missing target, directly or not, with the reference whose target it is. */
  #findBroken(): ReadonlyMap<string, string> {
    const { sources, missing } = this.#targets()
    const broken = new Map(missing.map(ref => [ref, ref]))
    // Iterating a Map also visits the entries that are added meanwhile.
    for (const [ref, cause] of broken) {
      for (const source of sources.get(ref) ?? []) if (!broken.has(source)) broken.set(source, cause)
    }
    return broken
  }

  /** For each reference, those whose targets contain it; and the references with a missing target. */
  #targets(): { readonly sources: ReadonlyMap<string, readonly string[]>; readonly missing: readonly string[] } {
    const sources = new Map<string, string[]>()
    const missing: string[] = []
    let visits = MAX_VISITS
    for (const ref of new Set(refsIn(this.#root))) {
      const target = this.#find(ref)
      if (target === undefined) missing.push(ref)
      for (const inner of new Set(refsIn(target ?? null, () => visits-- > 0))) {
        const known = sources.get(inner)
        if (known) known.push(ref)
        else sources.set(inner, [ref])
      }
    }
    return { sources, missing }
  }

  #find(ref: string): JsonValue | undefined {
    if (!ref.startsWith('#/')) return undefined
    let value: JsonValue | undefined = this.#root
    for (const token of ref.slice(2).split('/')) {
      const name = decode(token).replaceAll('~1', '/').replaceAll('~0', '~')
      if (Array.isArray(value)) value = /^(?:0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined
      else if (isJsonObject(value)) value = Object.hasOwn(value, name) ? value[name] : undefined
      else return undefined
    }
    return value
  }
}

function missing(ref: string): CannotBuild {
  return new CannotBuild(`it refers to ${JSON.stringify(ref.slice(0, 128))}, which the document does not have`)
}

function decode(token: string): string {
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}

/** Every reference inside a value of keywords, except in data. `goOn` is called for each part. */
function refsIn(root: JsonValue, goOn: () => boolean = () => true): string[] {
  const found: string[] = []
  const waiting: Part[] = [{ value: root, place: 'keywords' }]
  for (let next = waiting.pop(); next !== undefined && goOn(); next = waiting.pop()) {
    const { value } = next
    if (isJsonObject(value) && typeof value.$ref === 'string') found.push(value.$ref)
    waiting.push(...partsOf(next))
  }
  return found
}

interface Part {
  readonly value: JsonValue
  readonly place: OpenApiPlace
}

/** The parts of a value in which references count. */
function* partsOf({ value, place }: Part): Generator<Part> {
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') yield { value: item, place: openApiPlace(place) }
    return
  }
  if (!isJsonObject(value)) return
  for (const name in value) {
    const member = value[name]
    const below = openApiPlace(place, name)
    if (typeof member === 'object' && below !== 'data') yield { value: member, place: below }
  }
}
