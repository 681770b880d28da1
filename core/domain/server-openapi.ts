import { Buffer } from 'node:buffer'
import { type FieldCode, HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { documentServers, judgeOpenApiDocument, OPENAPI_LIMITS } from '../contract/openapi-document.ts'
import type { Fields } from './fields.ts'
import { mapStrings, pointerToken } from './json-pointer.ts'
import { checkUrl } from './server-address.ts'

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
/** Those of them that are sent as they are in a header, a query or a cookie. */
const SENT_AS_IS = ['value', 'token']
const AUTH_FIELDS: readonly string[] = [...AUTH_TEXTS, ...AUTH_URLS, 'scopes']

/** Where an inline document stands in a configuration. Its texts are foreign data: no variable and no mask is in them. */
const DOCUMENT = '/openapi/schema'
const LEFT_AS_IS: ReadonlySet<string> = new Set([DOCUMENT])

/** Maps every text of a configuration, or of its part at `pointer`, but those of an inline OpenAPI document. */
export function mapOwnTexts<T extends JsonValue>(
  config: T,
  replace: (text: string, pointer: string) => string,
  pointer = '',
): T {
  return mapStrings(config, replace, pointer, LEFT_AS_IS)
}

/** Whether a pointer into a flat body leads to or into an inline OpenAPI document. */
export function pointsIntoDocument(pointer: string): boolean {
  return pointer === DOCUMENT || pointer.startsWith(`${DOCUMENT}/`)
}

/** Judges the `openapi` block of a filled-in body, an inline document included; what is wrong is noted in `fields.errors`. */
export function readOpenapi(fields: Fields): void {
  if (!fields.required('openapi')) return
  const block = fields.nested('openapi')
  if (!block) return
  block.refuseUnknown(['url', 'schema', 'version', 'operations', 'auth', 'baseUrl'])
  if (block.has('url') && block.has('schema')) {
    block.problem('schema', 'ambiguous', 'Give the document by "url" or as "schema", not both')
  } else if (!block.has('url') && !block.has('schema')) {
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

/** The addresses that the block names, with the pointer of each: where documents, calls and secrets go. */
export function openapiAddresses(filled: JsonObject): readonly { pointer: string; text: string }[] {
  const block = isJsonObject(filled.openapi) ? filled.openapi : {}
  const found: { pointer: string; text: string }[] = []
  const add = (pointer: string, value: unknown): void => {
    if (typeof value === 'string') found.push({ pointer, text: value })
  }
  add('#/openapi/url', block.url)
  add('#/openapi/baseUrl', block.baseUrl)
  for (const [at, entry] of authEntries(block.auth)) for (const name of AUTH_URLS) add(`#${at}/${name}`, entry[name])
  if (isJsonObject(block.schema) && block.baseUrl === undefined) {
    for (const server of documentServers(block.schema)) add('#/openapi/schema/servers', server)
  }
  return found
}

function readUrl(fields: Fields, name: string): void {
  const url = fields.string(name)
  if (url !== undefined) checkUrl(url, fields.pointer(name), error => fields.errors.push(error))
}

/** The credentials by the names of the document's security schemes, or one scheme for all (then it has a `type`). */
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

function readDocument(block: Fields): void {
  const schema = block.raw('schema')
  if (schema === undefined) return
  try {
    if (typeof schema === 'string') return judgeText(schema)
    if (!isJsonObject(schema)) {
      return block.problem('schema', 'type', '"schema" must be the document as an object, or its text')
    }
    judgeOpenApiDocument(schema)
    judgeBytes(JSON.stringify(schema))
    if (block.has('baseUrl') || documentServers(schema).some(server => /^https?:\/\//i.test(server))) return
    const detail =
      'The document names no http or https address under "servers": give the address of the API as "baseUrl"'
    block.problem('baseUrl', 'required', detail)
  } catch (error) {
    if (!(error instanceof HubError) || !DOCUMENT_CODES.has(error.code)) throw error
    block.problem('schema', error.code as FieldCode, error.message)
  }
}

/** A text is read where it can hold up nobody else; here only what can be told at a glance. */
function judgeText(text: string): void {
  judgeBytes(text)
  if (/^[\s"'{]*(?:openapi|swagger)["']?\s*:|[\n{,]\s*["']?(?:openapi|swagger)["']?\s*:/.test(text)) return
  throw new HubError('openapi_unsupported', 'The text of "schema" is no OpenAPI document in JSON or YAML')
}

function judgeBytes(text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes <= OPENAPI_LIMITS.bytes) return
  throw new HubError(
    'openapi_too_large',
    `The OpenAPI document has ${bytes} bytes; at most ${OPENAPI_LIMITS.bytes} are read`,
  )
}
