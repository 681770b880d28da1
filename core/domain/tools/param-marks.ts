import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** An argument that is also sent as the header `Mcp-Param-{name}`. */
export interface ParamMark {
  readonly name: string
  /** The path of keys to it in the arguments. */
  readonly path: readonly string[]
}

/** The schema keyword that names the header for an argument (MCP 2026-07-28). */
export const MARK = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const PRIMITIVES: ReadonlySet<JsonValue | undefined> = new Set(['string', 'integer', 'boolean'])
/** Keywords whose value is data, not a schema: marks in it are ignored. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', MARK])
/** Keywords whose value maps names to schemas. */
const NAMED: ReadonlySet<string> = new Set(['$defs', 'definitions', 'patternProperties', 'dependentSchemas'])
const DEEPEST = 64

/**
 * The marks of a tool's input schema by the rules of the specification: on primitive properties that are reachable by
 * `properties` alone, with distinct header tokens as names, ignoring letter case. Throws an Error that names the broken
 * rule.
 */
export function paramMarks(inputSchema: JsonValue | undefined): readonly ParamMark[] {
  const walk = new MarkWalk()
  walk.visit(inputSchema, [], 0)
  return [...walk.found.values()]
}

class MarkWalk {
  /** By name in lower case. */
  readonly found = new Map<string, ParamMark>()

  /** `path` undefined: not reachable by `properties` alone. */
  visit(schema: JsonValue | undefined, path: readonly string[] | undefined, depth: number): void {
    if (depth > DEEPEST) throw new Error(`its input schema is nested more than ${DEEPEST} levels deep`)
    if (Array.isArray(schema)) {
      for (const branch of schema) this.visit(branch, undefined, depth + 1)
      return
    }
    if (!isJsonObject(schema)) return
    if (Object.hasOwn(schema, MARK)) this.#take(schema, path)
    for (const [keyword, value] of Object.entries(schema)) {
      if (!DATA.has(keyword)) this.#visitKeyword(keyword, value, path, depth)
    }
  }

  #visitKeyword(keyword: string, value: JsonValue, path: readonly string[] | undefined, depth: number): void {
    if (!isJsonObject(value) || (keyword !== 'properties' && !NAMED.has(keyword))) {
      this.visit(value, undefined, depth + 1)
      return
    }
    for (const [name, child] of Object.entries(value)) {
      this.visit(child, keyword === 'properties' ? path && [...path, name] : undefined, depth + 1)
    }
  }

  #take(schema: JsonObject, path: readonly string[] | undefined): void {
    const name = schema[MARK]
    if (path === undefined || path.length === 0) throw new Error(`${MARK} stands where no argument is`)
    const where = `${MARK} of "${path.join('.')}"`
    if (typeof name !== 'string' || !TOKEN.test(name)) {
      throw new Error(`${where} is ${JSON.stringify(name)?.slice(0, 80)}, which is no header name`)
    }
    if (!PRIMITIVES.has(schema.type)) throw new Error(`${where} is on a type other than string, integer and boolean`)
    if (this.found.has(name.toLowerCase())) throw new Error(`${MARK} "${name}" comes twice`)
    this.found.set(name.toLowerCase(), { name, path })
  }
}

/** The value of a marked argument; undefined when it was left out. */
export function markedValue({ path }: ParamMark, argumentsGiven: JsonValue | undefined): JsonValue | undefined {
  let value = argumentsGiven
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** The header text of a marked argument; undefined when a header cannot carry it. */
export function markedText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const tooLarge = Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'number' && !tooLarge ? String(value) : undefined
}
