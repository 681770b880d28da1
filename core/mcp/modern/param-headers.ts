import type { JsonValue } from '../../contract/json.ts'
import { asDouble } from '../../domain/json/exact-json.ts'
import { type CatalogItem, itemJson } from '../../domain/tools/catalog-item.ts'
import { MARK, markedValue, type ParamMark, paramMarks } from '../../domain/tools/param-marks.ts'
import { decodeHeader, mismatch } from '../rpc/envelope.ts'
import { isPlainObject } from '../rpc/rpc.ts'

const NONE: readonly ParamMark[] = Object.freeze([])

/** The arguments that clients must repeat as `Mcp-Param-*`, cached per tool. */
export class ParamHeaders {
  readonly #known = new WeakMap<CatalogItem, readonly ParamMark[]>()

  /** Throws header_mismatch where a header is missing or differs from the argument. Other headers are ignored. */
  check(tool: CatalogItem, args: JsonValue | undefined, headers: Headers): void {
    for (const mark of this.#paramsOf(tool)) {
      const header = `Mcp-Param-${mark.name}`
      const text = headers.get(header)
      const value = markedValue(mark, args)
      if (value === undefined || value === null) {
        if (text !== null) throw mismatch(`The header ${header} repeats an argument that is not there`)
        continue
      }
      if (text === null) throw mismatch(`The header ${header} is missing`)
      if (!says(decodeHeader(text, header), value)) throw mismatch(`The header ${header} is unlike the argument`)
    }
  }

  #paramsOf(tool: CatalogItem): readonly ParamMark[] {
    if (!tool.marked) return NONE
    const known = this.#known.get(tool)
    if (known) return known
    const params = readMarks(itemJson(tool).inputSchema)
    this.#known.set(tool, params)
    return params
  }
}

/**
 * The marks of a schema. A schema with an invalid mark counts as having none: clients ignore such a tool, and one that
 * calls it nevertheless has nothing to repeat.
 */
function readMarks(schema: JsonValue | undefined): readonly ParamMark[] {
  // Most tools have none; searching the text is cheaper than walking the schema.
  if (!isPlainObject(schema) || !JSON.stringify(schema).includes(`"${MARK}"`)) return NONE
  try {
    return paramMarks(schema)
  } catch {
    return NONE
  }
}

/** Numbers are compared as numbers: `42.0` equals 42. */
function says(text: string, value: JsonValue): boolean {
  if (typeof value === 'string') return text === value
  if (text === JSON.stringify(value)) return true
  const number = asDouble(value)
  // Beyond these limits, different numbers have the same double.
  return (
    number !== undefined && Math.abs(number) <= Number.MAX_SAFE_INTEGER && text.trim() !== '' && Number(text) === number
  )
}
