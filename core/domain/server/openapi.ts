import { Buffer } from 'node:buffer'
import { type FieldCode, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { documentServers, OPENAPI_LIMITS, validateOpenApiDocument } from '../../transport-kit/openapi-document.ts'
import { parseUrl } from '../../transport-kit/parse-url.ts'
import type { Fields } from '../json/fields.ts'
import { mapStrings, pointerToken } from '../json/json-pointer.ts'
import { checkUrl } from './address.ts'

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const AUTH_TEXTS = [
  'type',
  'in',
  'name',
  'scheme',
  'value',
  'token',
  'username',
  'password',
  'clientId',
  'clientSecret',
]
const AUTH_URLS = ['tokenUrl', 'openIdConnectUrl']
/** Fields of secrets that are sent unchanged in a header, query or cookie. */
const SENT_AS_IS = ['value', 'token']
const AUTH_FIELDS: readonly string[] = [...AUTH_TEXTS, ...AUTH_URLS, 'scopes']

/** Pointer of an inline document. Its strings are foreign data: without variables and masks. */
export const DOCUMENT = '/openapi/schema'
/** Pointer of its placeholder once it is stored. */
const STORED = '/openapi/document'
const LEFT_AS_IS: ReadonlySet<string> = new Set([DOCUMENT, STORED])

/** Limit of documents parsed on the main thread, in characters: some milliseconds; the same as for bodies. */
const SMALL_TEXT = 128 * 1024
/** Addresses of a stored document kept in its placeholder; of more, only these are checked later. */
const KEPT_SERVERS = 64
const NO_ADDRESS =
  'The document names no http or https address under "servers": give the address of the API as "baseUrl"'

/** The placeholder in a configuration for an inline document, which is stored separately. */
export interface StoredDocument {
  /** SHA-256 of the document's text, in hex. */
  readonly sha256: string
  /** Bytes of the text in UTF-8. */
  readonly bytes: number
  /** Distinct origins of calls without a "baseUrl". Absent if the text was saved before it was checked. */
  readonly servers?: readonly string[]
}

/** The placeholder of an inline document in the transport part of a configuration; undefined if there is none. */
export function storedDocument(config: JsonObject): StoredDocument | undefined {
  const { openapi } = config
  const document = isJsonObject(openapi) ? openapi.document : undefined
  return isJsonObject(document) ? (document as unknown as StoredDocument) : undefined
}

/** The transport part with `document` instead of its "schema" and "url". */
export function withStoredDocument(config: JsonObject, document: StoredDocument): JsonObject {
  const { schema: _, document: __, ...openapi } = isJsonObject(config.openapi) ? config.openapi : {}
  const { servers, ...rest } = document
  return { ...config, openapi: { ...openapi, document: { ...rest, ...(servers ? { servers: [...servers] } : {}) } } }
}

/** The transport part with `document` instead of the placeholder. */
export function withInlineDocument(config: JsonObject, document: JsonValue): JsonObject {
  const { document: _, ...openapi } = isJsonObject(config.openapi) ? config.openapi : {}
  return { ...config, openapi: { ...openapi, schema: document } }
}

/** The inline document of a transport part; undefined when it has none. */
export function inlineDocument(config: JsonObject): JsonValue | undefined {
  return isJsonObject(config.openapi) ? config.openapi.schema : undefined
}

/** The distinct origins of an inline document's addresses, at most 64; undefined for a text. */
export function documentOrigins(document: JsonValue): readonly string[] | undefined {
  if (!isJsonObject(document)) return undefined
  const origins = new Set<string>()
  for (const server of documentServers(document)) {
    const url = parseUrl(server)
    if (url && /^https?:$/.test(url.protocol)) origins.add(url.origin)
    if (origins.size === KEPT_SERVERS) break
  }
  return [...origins]
}

/** Maps every string of a configuration, or of its part at `pointer`, except in an inline OpenAPI document or its
 * placeholder. */
export function mapOwnTexts<T extends JsonValue>(
  config: T,
  replace: (text: string, pointer: string) => string,
  pointer = '',
): T {
  return mapStrings(config, replace, pointer, LEFT_AS_IS)
}

/** True when a pointer into a flat body leads to or into an inline OpenAPI document or its placeholder. */
export function pointsIntoDocument(pointer: string): boolean {
  return [...LEFT_AS_IS].some(place => pointer === place || pointer.startsWith(`${place}/`))
}

/** Validates the `openapi` block of a filled-in body, including an inline document; adds problems to `fields.errors`. */
export function readOpenapi(fields: Fields, name: string): void {
  const block = fields.nested(name)
  if (!block) return
  block.refuseUnknown(['url', 'schema', 'document', 'version', 'operations', 'auth', 'baseUrl'])
  if (block.has('url') && block.has('schema')) {
    block.problem('schema', 'ambiguous', 'Give the document by "url" or as "schema", not both')
  } else if (!block.has('url') && !block.has('schema') && !block.has('document')) {
    block.problem(
      'url',
      'required',
      'The OpenAPI document is missing: give its "url", or the document itself as "schema"',
    )
  }
  readUrl(block, 'url')
  readUrl(block, 'baseUrl')
  block.string('version')
  const operations = block.nested('operations')
  operations?.refuseUnknown(['include', 'exclude'])
  operations?.strings('include')
  operations?.strings('exclude')
  readAuth(block)
  readDocument(block)
}

/** All addresses of the block with their pointers: of documents, calls and secrets. */
export function openapiAddresses(filled: JsonObject): readonly { pointer: string; text: string }[] {
  const block = isJsonObject(filled.openapi) ? filled.openapi : {}
  const found: { pointer: string; text: string }[] = []
  const add = (pointer: string, value: unknown): void => {
    if (typeof value === 'string') found.push({ pointer, text: value })
  }
  add('#/openapi/url', block.url)
  add('#/openapi/baseUrl', block.baseUrl)
  for (const [at, entry] of authEntries(block.auth)) for (const name of AUTH_URLS) add(`#${at}/${name}`, entry[name])
  if (block.baseUrl !== undefined) return found
  if (isJsonObject(block.schema)) {
    for (const server of documentServers(block.schema)) add('#/openapi/schema/servers', server)
  } else {
    for (const server of storedDocument(filled)?.servers ?? []) add('#/openapi/document/servers', server)
  }
  return found
}

function readUrl(fields: Fields, name: string): void {
  const url = fields.string(name)
  if (url !== undefined) checkUrl(url, fields.pointer(name), error => fields.errors.push(error))
}

/** Credentials by security scheme of the document, or one scheme for all (with a `type`). */
function authEntries(auth: JsonValue | undefined): readonly (readonly [pointer: string, entry: JsonObject])[] {
  if (!isJsonObject(auth)) return []
  if (typeof auth.type === 'string') return [['/openapi/auth', auth]]
  return Object.entries(auth).flatMap(([name, entry]) =>
    isJsonObject(entry) ? [[`/openapi/auth/${pointerToken(name)}`, entry] as const] : [],
  )
}

function readAuth(block: Fields): void {
  const auth = block.nested('auth')
  if (!auth) return
  if (typeof auth.raw('type') === 'string') return readScheme(auth)
  for (const name of Object.keys(block.object('auth') ?? {})) {
    if (typeof auth.raw(name) === 'string') checkSent(auth, name)
    else {
      const scheme = auth.nested(name)
      if (scheme) readScheme(scheme)
    }
  }
}

function readScheme(scheme: Fields): void {
  scheme.refuseUnknown(AUTH_FIELDS)
  for (const name of AUTH_TEXTS) scheme.string(name)
  for (const name of AUTH_URLS) readUrl(scheme, name)
  for (const name of SENT_AS_IS) checkSent(scheme, name)
  scheme.strings('scopes')
}

function checkSent(fields: Fields, name: string): void {
  const value = fields.string(name)
  if (value === undefined || PRINTABLE_ASCII.test(value)) return
  fields.problem(name, 'header_value', 'The value may hold printable ASCII only, since it is sent in a header or URL')
}

const DOCUMENT_CODES: ReadonlySet<string> = new Set<FieldCode>([
  'openapi_unsupported',
  'openapi_external_ref',
  'openapi_bomb',
  'openapi_too_large',
])

/** A document's problem, and the field of the `openapi` block that it concerns. */
export interface DocumentProblem {
  readonly field: 'schema' | 'baseUrl'
  readonly code: FieldCode
  readonly detail: string
}

function readDocument(block: Fields): void {
  const schema = block.raw('schema')
  if (schema === undefined) return readStoredDocument(block)
  if (typeof schema !== 'string' && !isJsonObject(schema)) {
    return block.problem('schema', 'type', '"schema" must be the document as an object, or its text')
  }
  const problem =
    typeof schema === 'string'
      ? (asProblem(() => checkText(schema)) ?? smallTextProblem(schema, block.has('baseUrl')))
      : documentProblem(schema, JSON.stringify(schema), block.has('baseUrl'))
  if (problem) block.problem(problem.field, problem.code, problem.detail)
}

/** Validates a document given as an object; `text` is its JSON. Undefined when it is valid. */
export function documentProblem(schema: JsonObject, text: string, hasBaseUrl: boolean): DocumentProblem | undefined {
  const problem = asProblem(() => {
    validateOpenApiDocument(schema)
    checkByteLength(text)
  })
  if (problem) return problem
  if (hasBaseUrl || documentServers(schema).some(server => /^https?:\/\//i.test(server))) return undefined
  return { field: 'baseUrl', code: 'required', detail: NO_ADDRESS }
}

function asProblem(validate: () => void): DocumentProblem | undefined {
  try {
    validate()
    return undefined
  } catch (error) {
    return asDocumentProblem(error)
  }
}

/** Converts an error of reading or checking a document to a problem. Throws any other error. */
export function asDocumentProblem(error: unknown): DocumentProblem {
  if (!(error instanceof HubError) || !DOCUMENT_CODES.has(error.code)) throw error
  return { field: 'schema', code: error.code as FieldCode, detail: error.message }
}

/** Validates the placeholder of a stored document; the registry checks that it is stored for this server. */
function readStoredDocument(block: Fields): void {
  if (block.has('url') || !block.has('document')) return
  const document = block.nested('document')
  if (!document || block.has('baseUrl')) return
  const servers = document.raw('servers')
  if (servers === undefined || (Array.isArray(servers) && servers.length > 0)) return
  block.problem('baseUrl', 'required', NO_ADDRESS)
}

/** Validates a small JSON text; larger ones are validated with their body, YAML in a thread before it is saved. */
function smallTextProblem(text: string, hasBaseUrl: boolean): DocumentProblem | undefined {
  const document = text.length <= SMALL_TEXT ? jsonDocument(text) : undefined
  return document && documentProblem(document, text, hasBaseUrl)
}

/** The document in a JSON text; undefined for other text, which may be YAML. */
export function jsonDocument(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Quick checks only: a text is parsed in a worker. */
function checkText(text: string): void {
  checkByteLength(text)
  // Not anchored to the line: an expression that skips white space would be quadratic in the text's length.
  if (/(?:openapi|swagger)["']?[ \t]{0,8}:/.test(text)) return
  throw new HubError('openapi_unsupported', 'The text of "schema" is no OpenAPI document in JSON or YAML')
}

function checkByteLength(text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes <= OPENAPI_LIMITS.bytes) return
  throw new HubError(
    'openapi_too_large',
    `The OpenAPI document has ${bytes} bytes; at most ${OPENAPI_LIMITS.bytes} are read`,
  )
}
