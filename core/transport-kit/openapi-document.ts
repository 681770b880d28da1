import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'

/** Limits of an OpenAPI document, both when the hub saves it and when the transport starts. */
export const OPENAPI_LIMITS = {
  /** Bytes of its text, decoded. */
  bytes: 16 * 1024 * 1024,
  /** Parsing YAML takes about thirty times its size, and 4 MB of it block the thread for a second. */
  yamlBytes: 4 * 1024 * 1024,
  operations: 5_000,
  depth: 64,
  nodes: 5_000_000,
} as const

/** The methods of a path item, in lower case. */
export const OPERATION_METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const

/** Members whose values are data, in which `$ref` is an ordinary key. */
const DATA: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum', 'const', 'value'])
/** Members whose keys are names chosen by the document's author, so that one called `default` is not a keyword. */
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions', 'schemas'],
  ...['paths', 'pathItems', 'parameters', 'responses', 'requestBodies', 'headers', 'content', 'encoding'],
  ...['callbacks', 'links', 'webhooks', 'securitySchemes', 'variables'],
])

/** Kind of a value's keys: keywords of OpenAPI or JSON Schema, chosen names, or those of data. */
export type OpenApiPlace = 'keywords' | 'names' | 'data'

/** The place of the value under this key; without a key, of an item of an array. Extensions (`x-…`) are data. */
export function openApiPlace(place: OpenApiPlace, key?: string): OpenApiPlace {
  if (place === 'data') return 'data'
  if (place === 'names' || key === undefined) return 'keywords'
  if (DATA.has(key) || key.startsWith('x-')) return 'data'
  return NAMED.has(key) ? 'names' : 'keywords'
}

/** The versions of OpenAPI that are read, by major and minor number; a document of 3.2 is read as 3.1. */
export type OpenApiVersion = '2.0' | '3.0' | '3.1'

/**
 * Validates a parsed document before it is used: version, nesting, size, and that no `$ref` leads out of it; in data such as
 * `example` a `$ref` is not a reference. Walks without recursion, and counts aliased values as often as they occur. Throws
 * HubError: `openapi_unsupported`, `openapi_bomb`, `openapi_external_ref`, `openapi_too_large`.
 */
export function validateOpenApiDocument(document: JsonValue): OpenApiVersion {
  const version = openApiVersion(document)
  const waiting: DocumentNode[] = [{ value: document as JsonObject, depth: 1, place: 'keywords' }]
  let nodes = 1
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth, place } = next
    if (depth > OPENAPI_LIMITS.depth) {
      throw new HubError('openapi_bomb', `The OpenAPI document is nested deeper than ${OPENAPI_LIMITS.depth} levels`)
    }
    if (!Array.isArray(value)) refuseKeys(value, place)
    nodes += pushChildren(waiting, next)
    if (nodes > OPENAPI_LIMITS.nodes) {
      throw new HubError('openapi_bomb', `The OpenAPI document has more than ${OPENAPI_LIMITS.nodes} values`)
    }
  }
  const operations = countOperations(document as JsonObject)
  if (operations > OPENAPI_LIMITS.operations) throw tooManyOperations(operations)
  return version
}

interface DocumentNode {
  readonly value: JsonObject | JsonValue[]
  readonly depth: number
  readonly place: OpenApiPlace
}

/** Adds the objects and lists inside a value to `waiting`; returns the number of values that it holds. */
function pushChildren(waiting: DocumentNode[], { value, depth, place }: DocumentNode): number {
  const keys = Array.isArray(value) ? undefined : Object.keys(value)
  const items = Array.isArray(value) ? value : Object.values(value)
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index]
    if (typeof item !== 'object' || item === null) continue
    waiting.push({ value: item, depth: depth + 1, place: openApiPlace(place, keys?.[index]) })
  }
  return items.length
}

/** The error `openapi_too_large` for a document with too many operations; names their number. */
export function tooManyOperations(operations: number): HubError {
  const message = `The OpenAPI document has ${operations} operations; at most ${OPENAPI_LIMITS.operations} are read`
  return new HubError('openapi_too_large', message)
}

function openApiVersion(document: JsonValue): OpenApiVersion {
  if (!isJsonObject(document)) {
    throw new HubError('openapi_unsupported', 'This is no OpenAPI document: a JSON or YAML object is wanted')
  }
  const { openapi, swagger } = document
  const version = String(typeof openapi === 'object' ? '' : (openapi ?? swagger ?? ''))
    .trim()
    .replace(/^v(?=\d)/i, '')
  const found = openapi === undefined ? undefined : /^3(?:\.[0-2])?(?=\.|$)/.exec(version)?.[0]
  // A YAML document that writes 3.0 without quotes means the number 3.
  if (found === '3' && version === '3') return '3.0'
  if (found === '3.0' || found === '3.1') return found
  if (found === '3.2') return '3.1'
  // A YAML document that writes 2.0 without quotes means the number 2.
  if (openapi === undefined && swagger !== undefined && /^2(\.0)?$/.test(version)) return '2.0'
  const other = otherFormat(document)
  if (other !== undefined) {
    throw new HubError('openapi_unsupported', `This is ${other} and no OpenAPI document; export it as OpenAPI`)
  }
  const what = version === '' ? 'names no version' : `says version ${JSON.stringify(version.slice(0, 32))}`
  throw new HubError('openapi_unsupported', `The OpenAPI document ${what}; 2.0, 3.0, 3.1 and 3.2 can be read`)
}

/** Another description of an API that people take for OpenAPI. */
function otherFormat({ asyncapi, info, item, log, resourceType, __schema }: JsonObject): string | undefined {
  if (asyncapi !== undefined) return 'an AsyncAPI document'
  if (Array.isArray(item) && isJsonObject(info)) return 'a collection of Postman'
  if (resourceType !== undefined || isJsonObject(log)) return 'a record of requests'
  return __schema === undefined ? undefined : 'a schema of GraphQL'
}

function refuseKeys(value: JsonObject, place: OpenApiPlace): void {
  const { $ref } = value
  if (place !== 'data' && typeof $ref === 'string' && !$ref.startsWith('#/')) {
    const shown = JSON.stringify($ref.slice(0, 64))
    throw new HubError('openapi_external_ref', `The OpenAPI document refers to ${shown}; only "#/…" is followed`, {
      hint: 'Bundle the document into one file first.',
    })
  }
  if (Object.hasOwn(value, '__proto__')) {
    throw new HubError('openapi_unsupported', 'The OpenAPI document has a key "__proto__", which is never accepted')
  }
}

function countOperations(document: JsonObject): number {
  let count = 0
  for (const item of pathItems(document))
    for (const method of OPERATION_METHODS) if (isJsonObject(item[method])) count += 1
  return count
}

function pathItems({ paths }: JsonObject): readonly JsonObject[] {
  return isJsonObject(paths) ? Object.values(paths).filter(isJsonObject) : []
}

/**
 * The addresses of the API when the configuration names none, the document's own first, each as written with its
 * variables filled in: they may be relative to the document. Empty when the document has none.
 */
export function documentServers(document: JsonObject): readonly string[] {
  const { host, basePath = '', schemes } = document
  if (document.swagger !== undefined) {
    const scheme = Array.isArray(schemes) && !schemes.includes('https') ? String(schemes[0] ?? 'https') : 'https'
    const path = typeof basePath === 'string' ? basePath.replace(/^(?=[^/])/, '/') : ''
    return typeof host === 'string' ? [`${scheme}://${host}${path}`] : []
  }
  const places = [document, ...pathItems(document).flatMap(item => [item, ...Object.values(item).filter(isJsonObject)])]
  return places.flatMap(place => firstServer(place) ?? [])
}

/** The address of the first of `servers`, with its variables filled in; undefined if there is none. */
export function firstServer({ servers }: JsonObject): string | undefined {
  const first = Array.isArray(servers) ? servers[0] : undefined
  if (!isJsonObject(first) || typeof first.url !== 'string') return undefined
  const variables = isJsonObject(first.variables) ? first.variables : {}
  return first.url.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    if (!isJsonObject(variable)) return whole
    const value = variable.default ?? (Array.isArray(variable.enum) ? variable.enum[0] : undefined)
    return typeof value === 'string' || typeof value === 'number' ? String(value) : whole
  })
}
