import type { JsonObject, JsonValue } from '../contract/json.ts'
import { decodeHeader, mismatch } from './envelope.ts'
import { isPlainObject } from './rpc.ts'

/** One argument of a tool that its schema wants repeated in a header. */
interface HeaderParam {
  readonly header: string
  readonly path: readonly string[]
}

const MARK = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const PRIMITIVES: ReadonlySet<JsonValue | undefined> = new Set(['string', 'integer', 'boolean'])
const NONE: readonly HeaderParam[] = Object.freeze([])

/** The arguments that clients must repeat as `Mcp-Param-*`, by tool; read once per tool. */
export class ParamHeaders {
  readonly #known = new WeakMap<JsonObject, readonly HeaderParam[]>()

  /** Throws header_mismatch where a header is missing or unlike the argument. Headers that no mark names are ignored. */
  check(tool: JsonObject, args: JsonValue | undefined, headers: Headers): void {
    for (const { header, path } of this.#paramsOf(tool)) {
      const said = headers.get(header)
      const value = valueAt(args, path)
      if (value === undefined || value === null) {
        if (said !== null) throw mismatch(`The header ${header} repeats an argument that is not there`)
        continue
      }
      if (said === null) throw mismatch(`The header ${header} is missing`)
      if (!says(decodeHeader(said, header), value)) throw mismatch(`The header ${header} is unlike the argument`)
    }
  }

  #paramsOf(tool: JsonObject): readonly HeaderParam[] {
    const known = this.#known.get(tool)
    if (known) return known
    const params = readMarks(tool.inputSchema)
    this.#known.set(tool, params)
    return params
  }
}

/**
 * The marks of a schema. A schema with one that cannot hold counts as having none: clients leave such a tool out, and one
 * that calls it all the same has nothing to repeat.
 */
function readMarks(schema: JsonValue | undefined): readonly HeaderParam[] {
  // Most tools have none, which a look at the text tells for less than a walk.
  if (!isPlainObject(schema) || !JSON.stringify(schema).includes(`"${MARK}"`)) return NONE
  const found: HeaderParam[] = []
  const names = new Set<string>()
  const walk = (part: JsonObject, path: readonly string[]): boolean => {
    if (!isPlainObject(part.properties)) return true
    for (const [key, property] of Object.entries(part.properties)) {
      if (!isPlainObject(property)) continue
      const name = property[MARK]
      if (name !== undefined) {
        if (typeof name !== 'string' || !TOKEN.test(name) || !PRIMITIVES.has(property.type)) return false
        if (names.has(name.toLowerCase())) return false
        names.add(name.toLowerCase())
        found.push({ header: `Mcp-Param-${name}`, path: [...path, key] })
      }
      if (!walk(property, [...path, key])) return false
    }
    return true
  }
  return walk(schema, []) ? found : NONE
}

function valueAt(args: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let value = args
  for (const key of path) {
    if (!isPlainObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** Numbers are compared as numbers: `42.0` says 42. */
function says(text: string, value: JsonValue): boolean {
  if (typeof value === 'string') return text === value
  if (typeof value === 'number') return text.trim() !== '' && Number(text) === value
  return text === JSON.stringify(value)
}
