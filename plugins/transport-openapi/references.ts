import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

const MAX_HOPS = 32

/** Why one operation cannot be offered; the others go on. */
export class CannotBuild extends Error {
  override readonly name = 'CannotBuild'
}

/** Follows `#/…` references inside one document, and nothing else. */
export class References {
  readonly #root: JsonObject
  readonly #known = new Map<string, JsonValue | undefined>()

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** What a reference names. Throws CannotBuild when there is nothing. */
  resolve(ref: string): JsonValue {
    if (!this.#known.has(ref)) this.#known.set(ref, this.#find(ref))
    const found = this.#known.get(ref)
    if (found !== undefined) return found
    throw new CannotBuild(`it refers to ${JSON.stringify(ref.slice(0, 128))}, which the document does not have`)
  }

  /** An object with the references in its place followed; undefined for what is no object. */
  follow(value: JsonValue | undefined): JsonObject | undefined {
    let at = value
    for (let hops = 0; isJsonObject(at) && typeof at.$ref === 'string'; hops += 1) {
      if (hops >= MAX_HOPS)
        throw new CannotBuild(`its reference ${JSON.stringify(at.$ref.slice(0, 128))} leads nowhere`)
      at = this.resolve(at.$ref)
    }
    return isJsonObject(at) ? at : undefined
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

function decode(token: string): string {
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}
