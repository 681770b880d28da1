import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isPlainObject } from '../json/exact-json.ts'

/** A tool as one group shows it. */
export interface ShownTool {
  /** The name that callers use. */
  readonly name: string
  /** The server's name in the group. */
  readonly server: string
  readonly definition: JsonObject
}

/** Address at which the tools can be called. */
export interface ToolsAddress {
  readonly title: string
  /** Absolute, without a slash at its end: a tool's name follows behind a slash. */
  readonly url: string
}

/** Media type with which a client requests the answer in MCP's form. */
export const MCP_RESULT_TYPE = 'application/vnd.patchbay.result+json'

/**
 * Writes tools as an OpenAPI 3.1 document: each is a POST whose body is its arguments. Tools with a schema that refers to
 * other documents are left out, and named in `x-left-out`.
 */
export class ToolsDocument {
  readonly #address: ToolsAddress
  readonly #version: string
  readonly #paths: string[] = []
  readonly #schemas = new Map<string, string>()
  readonly #servers = new Set<string>()
  readonly #leftOut: string[] = []

  constructor(address: ToolsAddress, version: string) {
    this.#address = address
    this.#version = version
  }

  add({ name, server, definition }: ShownTool): void {
    const key = schemaName(`${name}_input`, this.#schemas)
    const schema = movedSchema(definition.inputSchema, `#/components/schemas/${key}`)
    if (schema === undefined) {
      this.#leftOut.push(name)
      return
    }
    this.#servers.add(server)
    this.#schemas.set(key, JSON.stringify(schema))
    const path = JSON.stringify(`/${encodeURIComponent(name)}`)
    this.#paths.push(`${path}:${JSON.stringify({ post: operation(name, server, definition, key) })}`)
  }

  /** The document as JSON text, in parts. */
  *texts(): Generator<string> {
    const { title, url } = this.#address
    const head = {
      openapi: '3.1.0',
      jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
      info: { title, version: this.#version, description: DESCRIPTION },
      servers: [{ url }],
      security: [{ bearer: [] }],
      tags: [...this.#servers].map(name => ({ name })),
      ...(this.#leftOut.length === 0 ? {} : { 'x-left-out': this.#leftOut }),
    }
    yield JSON.stringify(head).slice(0, -1)
    yield ',"paths":{'
    for (const [at, path] of this.#paths.entries()) yield at === 0 ? path : `,${path}`
    yield '}'
    yield `,"components":${JSON.stringify(COMPONENTS).slice(0, -1)},"schemas":{"Problem":${JSON.stringify(PROBLEM)}`
    for (const [key, schema] of this.#schemas) yield `,${JSON.stringify(key)}:${schema}`
    yield '}}}'
  }
}

const DESCRIPTION = 'The tools of a group: each is called with its arguments as the body.'
const COMPONENTS: JsonObject = {
  securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An access key' } },
  responses: {
    Problem: {
      description: 'A refusal, as RFC 9457 says',
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  },
}
const PROBLEM: JsonObject = {
  type: 'object',
  properties: { code: { type: 'string' }, title: { type: 'string' }, detail: { type: 'string' } },
  required: ['code', 'title'],
}

function operation(name: string, server: string, { title, description, outputSchema }: JsonObject, key: string) {
  const output = outputSchema === undefined ? undefined : movedSchema(outputSchema, undefined)
  return {
    operationId: name,
    tags: [server],
    ...(typeof title === 'string' ? { summary: title } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${key}` } } },
    },
    responses: {
      200: {
        description: 'What the tool answered: its structured content, or its text, or all its content',
        content: { 'application/json': { schema: output ?? {} }, [MCP_RESULT_TYPE]: { schema: { type: 'object' } } },
      },
      default: { $ref: '#/components/responses/Problem' },
    },
  } satisfies JsonObject
}

/** A name that a component may have and no other has. */
function schemaName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  const legal = wanted.replace(/[^A-Za-z0-9._-]/g, '_')
  for (let more = 1; ; more += 1) {
    const name = more === 1 ? legal : `${legal}_${more}`
    if (name !== 'Problem' && !taken.has(name)) return name
  }
}

const ONE = new Set([
  ...['additionalProperties', 'contains', 'contentSchema', 'else', 'if', 'items', 'not', 'propertyNames', 'then'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'additionalItems'],
])
const MANY = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
const NAMED = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties'])
/** Keywords that identify a standalone schema; a moved schema is not one. */
const DROPPED = new Set(['$schema', '$id', 'id', '$anchor', '$vocabulary', '$comment'])
const DYNAMIC = new Set(['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor'])

class Foreign extends Error {}

/** The schema that references beginning with `#` mean: the nearest one around them that has an address of its own. */
interface Base {
  readonly schema: JsonObject
  /** Place of the schema in the new document; undefined: no reference could name it. */
  readonly place: string | undefined
}

/**
 * Returns the schema for another place, with its references adjusted. Undefined if it refers to parts outside itself, or has
 * references but no place (`place` undefined).
 */
function movedSchema(schema: JsonValue | undefined, place: string | undefined): JsonValue | undefined {
  try {
    return moved(schema ?? {}, place, { schema: {}, place })
  } catch (error) {
    if (error instanceof Foreign) return undefined
    throw error
  }
}

function moved(schema: JsonValue, place: string | undefined, around: Base): JsonValue {
  if (!isPlainObject(schema)) return schema
  const isFirst = place === around.place
  const base = isFirst || typeof schema.$id === 'string' ? { schema, place } : around
  const members = Object.entries(schema).flatMap(([key, value]) => {
    if (DYNAMIC.has(key)) throw new Foreign()
    if (DROPPED.has(key) && typeof value !== 'object') return []
    return [[key, movedMember(key, value, below(place, key), base)] as const]
  })
  return Object.fromEntries(members)
}

function movedMember(key: string, value: JsonValue, place: string | undefined, base: Base): JsonValue {
  if (key === '$ref') return movedReference(value, base)
  if (MANY.has(key) && Array.isArray(value))
    return value.map((inner, at) => moved(inner, below(place, String(at)), base))
  if (ONE.has(key)) return moved(value, place, base)
  if (!NAMED.has(key) || !isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, moved(inner, below(place, name), base)]),
  )
}

function movedReference(reference: JsonValue, { schema, place }: Base): JsonValue {
  if (typeof reference !== 'string' || place === undefined || !leadsInto(schema, reference)) throw new Foreign()
  return `${place}${reference.slice(1)}`
}

/** True when a reference such as `#/$defs/a~1b` names an existing part of a schema. */
function leadsInto(schema: JsonObject, reference: string): boolean {
  if (reference === '#') return true
  if (!reference.startsWith('#/')) return false
  let at: JsonValue | undefined = schema
  for (const part of reference.slice(2).split('/')) {
    const name = decoded(part)?.replaceAll('~1', '/').replaceAll('~0', '~')
    if (name === undefined || typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false
    at = (at as Readonly<Record<string, JsonValue>>)[name]
  }
  return true
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

function below(place: string | undefined, name: string): string | undefined {
  return place && `${place}/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`
}
