import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** An argument that also goes out as a header: `Mcp-Param-{name}`. */
export interface ParamMark {
  readonly name: string
  /** The keys that lead to it from the arguments. */
  readonly path: readonly string[]
}

export const MARK = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const PRIMITIVES: ReadonlySet<JsonValue | undefined> = new Set(['string', 'integer', 'boolean'])
/** Keywords whose value is data, not a schema: whatever is in there marks nothing. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', MARK])
/** Keywords whose value maps names to schemas. */
const NAMED: ReadonlySet<string> = new Set(['$defs', 'definitions', 'patternProperties', 'dependentSchemas'])
const DEEPEST = 64

/**
 * The marks of a tool's input schema, by the rules of the specification: on primitive properties that a chain of
 * `properties` alone leads to, with names that are header tokens and differ in more than letter case. Throws an Error that
 * says which rule is broken.
 */
export function paramMarks(inputSchema: JsonValue | undefined): readonly ParamMark[] {
  const found = new Map<string, ParamMark>()
  /** `path` undefined: not reachable by `properties` alone. */
  const walk = (schema: JsonValue | undefined, path: readonly string[] | undefined, depth: number): void => {
    if (depth > DEEPEST) throw new Error(`its input schema is nested more than ${DEEPEST} levels deep`)
    if (Array.isArray(schema)) {
      for (const branch of schema) walk(branch, undefined, depth + 1)
      return
    }
    if (!isJsonObject(schema)) return
    if (Object.hasOwn(schema, MARK)) take(schema, path)
    for (const [keyword, value] of Object.entries(schema)) {
      if (DATA.has(keyword)) continue
      if (keyword === 'properties' && isJsonObject(value)) {
        for (const [name, child] of Object.entries(value)) walk(child, path && [...path, name], depth + 1)
      } else if (NAMED.has(keyword) && isJsonObject(value)) {
        for (const child of Object.values(value)) walk(child, undefined, depth + 1)
      } else {
        walk(value, undefined, depth + 1)
      }
    }
  }
  const take = (schema: JsonObject, path: readonly string[] | undefined): void => {
    const name = schema[MARK]
    if (path === undefined || path.length === 0) throw new Error(`${MARK} stands where no argument is`)
    if (typeof name !== 'string' || !TOKEN.test(name)) {
      throw new Error(
        `${MARK} of "${path.join('.')}" is ${JSON.stringify(name)?.slice(0, 80)}, which is no header name`,
      )
    }
    if (!PRIMITIVES.has(schema.type)) {
      throw new Error(`${MARK} of "${path.join('.')}" is on a type other than string, integer and boolean`)
    }
    if (found.has(name.toLowerCase())) throw new Error(`${MARK} "${name}" comes twice`)
    found.set(name.toLowerCase(), { name, path })
  }
  walk(inputSchema, [], 0)
  return [...found.values()]
}

/** What was given for a marked argument; undefined when it was left out. */
export function markedValue({ path }: ParamMark, argumentsGiven: JsonValue | undefined): JsonValue | undefined {
  let value = argumentsGiven
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** The text of a marked argument; undefined for one that a header cannot carry. */
export function markedText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const tooLarge = Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'number' && !tooLarge ? String(value) : undefined
}
