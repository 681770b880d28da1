import { gunzipSync } from 'node:zlib'
import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0'
import { type GuardedResponse, HubError, isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import {
  type AnswerIo,
  fetchFollowing,
  OPENAPI_LIMITS,
  type OpenApiVersion,
  openApiTooLarge,
  parseOpenApiText,
  validateOpenApiDocument,
} from 'patchbay/transport-kit'
import type { OpenapiConfig } from './config.ts'
import { shownOperation } from './operations.ts'
import { isTooLong } from './too-long.ts'

/** A validated document in the form of OpenAPI 3, with its address. */
export interface OpenApiDocument {
  readonly root: JsonObject
  readonly version: '3.0' | '3.1'
  /** Address from which it was read; undefined for an inline one. */
  readonly url: string | undefined
  /** Warnings about parts that are read differently from the document. */
  readonly notes: readonly string[]
}

const ACCEPT = 'application/json, application/yaml, application/x-yaml, text/yaml, */*;q=0.5'

/**
 * The document of a server, validated and converted to OpenAPI 3. Throws HubError: the codes of a failed request,
 * `openapi_unsupported`, `openapi_bomb`, `openapi_external_ref`, `openapi_too_large`.
 */
export async function readDocument(
  config: OpenapiConfig,
  { fetch, signal }: Pick<AnswerIo, 'fetch' | 'signal'>,
): Promise<OpenApiDocument> {
  const { document } = config
  if ('content' in document) {
    const { content } = document
    return asThree(typeof content === 'string' ? await parseOpenApiText(content) : content, undefined)
  }
  // The document may be on another host than the API, which must not get the API's headers.
  const sameOrigin = URL.parse(config.baseUrl ?? '')?.origin === URL.parse(document.url)?.origin
  const headers = { accept: ACCEPT, ...(sameOrigin ? config.headers : {}) }
  const { response, url } = await fetchFollowing(fetch, document.url, {
    method: 'GET',
    headers,
    signal,
    maxBytes: OPENAPI_LIMITS.bytes,
  })
  return asThree(await parseOpenApiText(await bodyOf(response)), url)
}

async function bodyOf(response: GuardedResponse): Promise<string> {
  const { status } = response
  if (status < 200 || status > 299) {
    response.cancel()
    const refused = status === 401 || status === 403
    const hint = refused ? '; where it wants the headers of the server, set "baseUrl" on its origin' : ''
    const message = `The OpenAPI document was answered with HTTP ${status}${hint}`
    throw new HubError(refused ? 'authorization_required' : 'upstream_http_error', message, { data: { status } })
  }
  try {
    return textOf(await response.bytes())
  } catch (error) {
    if (isTooLong(error)) throw openApiTooLarge(OPENAPI_LIMITS.bytes)
    throw error
  }
}

/** The text of a file: packed by gzip (`openapi.json.gz`), in UTF-16 with its mark, or in UTF-8. */
function textOf(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0x1f && second === 0x8b) return textOf(unpacked(bytes))
  const isLittle = first === 0xff && second === 0xfe
  const isBig = first === 0xfe && second === 0xff
  return new TextDecoder(isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8').decode(bytes)
}

function unpacked(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: OPENAPI_LIMITS.bytes })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw openApiTooLarge(OPENAPI_LIMITS.bytes)
    throw new HubError('openapi_unsupported', 'The OpenAPI document is a gzip file that cannot be unpacked', { cause })
  }
}

function asThree(root: JsonValue, url: string | undefined): OpenApiDocument {
  const version = validateOpenApiDocument(root)
  if (!isJsonObject(root)) throw new HubError('openapi_unsupported', 'The OpenAPI document is no object')
  return version === '2.0' ? convert(root, url) : { root, version, url, notes: newerParts(root) }
}

/** Parts of a document of version 3.2 that 3.1 does not have. Empty for older versions. */
function newerParts(root: JsonObject): readonly string[] {
  if (!/^3\.2(?=\.|$)/.test(String(root.openapi))) return []
  const methods = Object.entries(isJsonObject(root.paths) ? root.paths : {}).flatMap(([path, item]) => {
    if (!isJsonObject(item)) return []
    const others = isJsonObject(item.additionalOperations) ? Object.keys(item.additionalOperations) : []
    return [...(isJsonObject(item.query) ? ['query'] : []), ...others].map(method => shownOperation({ method, path }))
  })
  return [
    'The document says OpenAPI 3.2 and is read as 3.1; what 3.2 added is ignored',
    ...methods.map(shown => `${shown} is left out: its method is new in OpenAPI 3.2`),
  ]
}

/** Converts Swagger 2.0; the converter changes its input. */
function convert(root: JsonObject, url: string | undefined): OpenApiDocument {
  const { schemes, consumes, produces, basePath } = root
  const own = url === undefined ? [] : [new URL(url).protocol.slice(0, -1)]
  const known = Array.isArray(schemes) ? schemes.filter(scheme => scheme === 'https' || scheme === 'http') : own
  const prepared = {
    ...structuredClone(root),
    swagger: '2.0',
    // The converter takes the first of several, and plain http by default.
    schemes: known.includes('https') || known.length === 0 ? ['https'] : known,
    consumes: Array.isArray(consumes) ? consumes : ['application/json'],
    produces: Array.isArray(produces) ? produces : ['application/json'],
    ...(typeof basePath === 'string' ? { basePath: basePath.replace(/^(?=[^/])/, '/') } : {}),
  }
  let converted: unknown
  try {
    converted = upgradeFromTwoToThree(prepared)
  } catch (cause) {
    throw new HubError('openapi_unsupported', 'The Swagger 2.0 document cannot be converted to OpenAPI 3', { cause })
  }
  const found: OpenApiVersion = validateOpenApiDocument(converted as JsonValue)
  if (found === '2.0') throw new HubError('openapi_unsupported', 'The Swagger 2.0 document cannot be converted')
  return { root: converted as JsonObject, version: found, url, notes: [] }
}
