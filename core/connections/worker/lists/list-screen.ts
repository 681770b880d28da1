import { LIMITS } from '../../../config/limits.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { parseExact } from '../../../domain/json/exact-json.ts'
import { LISTS, type ListKind } from '../../../domain/mcp-methods.ts'
import { type CatalogItem, catalogItem, itemKey } from '../../../domain/tools/catalog-item.ts'
import { RawResult } from '../own-requests.ts'
import { readItem } from './list-items.ts'

/** Most omitted items that warnings name. */
const MOST_NAMED = 20
/** Most white space of an item, as a multiple of its limit. */
const MOST_BLANK = 4

/** Validates the items of one list in order, and adds `warnings` on those that were changed or left out. */
export class ListScreen {
  readonly #kind: ListKind
  readonly #method: string
  readonly #warnings: string[]
  readonly #objection: ((kind: ListKind, item: JsonObject) => string | undefined) | undefined
  readonly #listed = new Set<string>()
  #kept = 0
  #bytes = 0
  #tooLarge = 0
  #malformed = 0
  #rejected = 0
  #objected = 0
  #normalized = 0
  #firstNormalized: string | undefined
  #again = 0

  constructor(
    kind: ListKind,
    method: string,
    warnings: string[],
    objection: ((kind: ListKind, item: JsonObject) => string | undefined) | undefined,
  ) {
    this.#kind = kind
    this.#method = method
    this.#warnings = warnings
    this.#objection = objection
  }

  /** Number of valid items so far. */
  get kept(): number {
    return this.#kept
  }

  /** Undefined: the item is left out. `end`: so are all that follow. Throws SyntaxError for invalid JSON. */
  validate(raw: JsonValue | RawResult, repeats: boolean): CatalogItem | 'end' | undefined {
    if (raw instanceof RawResult && raw.text.length > MOST_BLANK * LIMITS.catalogItemBytes) {
      this.#tooLarge += 1
      return undefined
    }
    const value = raw instanceof RawResult ? parseExact(raw.text) : raw
    const key = isJsonObject(value) ? value[LISTS[this.#kind].itemKey] : undefined
    if (!isJsonObject(value) || typeof key !== 'string') {
      this.#malformed += 1
      return undefined
    }
    if (this.#listed.has(itemKey(this.#kind, key))) {
      if (!repeats) this.#again += 1
      return undefined
    }
    const item = this.#accept(value, key)
    if (item === undefined) return undefined
    return this.#within(item)
  }

  #accept(value: JsonObject, key: string): JsonObject | undefined {
    const found = readItem(this.#kind, value)
    if ('objection' in found) {
      this.#rejected += 1
      if (this.#rejected <= MOST_NAMED) this.#warnings.push(`${this.#method}: ${found.objection}`)
      return undefined
    }
    if (found.normalized.length > 0) {
      this.#normalized += 1
      this.#firstNormalized ??= `"${cutShort(key, 128)}" in ${found.normalized.join(', ')}`
    }
    const objection = this.#objection?.(this.#kind, found.item)
    if (objection === undefined) return found.item
    this.#objected += 1
    if (this.#objected <= MOST_NAMED) this.#warnings.push(`${this.#method}: ${objection}`)
    return undefined
  }

  #within(value: JsonObject): CatalogItem | 'end' | undefined {
    const text = JSON.stringify(value)
    if (Buffer.byteLength(text) > LIMITS.catalogItemBytes) {
      this.#tooLarge += 1
      return undefined
    }
    const item = catalogItem(this.#kind, value, text)
    if (this.#kept >= LIMITS.catalogItems || this.#bytes + item.bytes > LIMITS.catalogListBytes) {
      this.#warnings.push(
        `${this.#method}: more than ${LIMITS.catalogItems} items or ${LIMITS.catalogListBytes} bytes; the rest is left out`,
      )
      return 'end'
    }
    this.#listed.add(item.key)
    this.#kept += 1
    this.#bytes += item.bytes
    return item
  }

  /** Adds the warnings with the counts. */
  conclude(): void {
    const say = (count: number, what: string): void => {
      if (count > 0) this.#warnings.push(`${this.#method}: ${count} ${what}`)
    }
    say(this.#tooLarge, `items over ${LIMITS.catalogItemBytes} bytes are left out`)
    say(Math.max(0, this.#rejected - MOST_NAMED), 'further items are left out in the same way')
    say(Math.max(0, this.#objected - MOST_NAMED), 'further items are left out for what their arguments mark')
    say(
      this.#normalized,
      `items that MCP does not know in this form are normalized, the first ${this.#firstNormalized}`,
    )
    say(this.#again, 'items are listed more than once; the first of each counts')
    say(this.#malformed, 'items without a name or address are left out')
  }
}
