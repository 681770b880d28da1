import { LIMITS } from '../../config/limits.ts'
import { within } from '../../connections/within.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { type JsonLimits, parseJsonObject } from '../../domain/json/json-guard.ts'
import { type BodyParser, parsedByMain } from './body-parser.ts'
import { decodeBody } from './body-text.ts'
import { bytesOf, ChunkList, joined } from './chunks.ts'

/** Limits for reading one body. */
export interface BodyOptions {
  /** Bytes. Default 1 MiB. */
  readonly limit?: number
  /** Longest pause between two chunks, in milliseconds. Default `LIMITS.bodySilenceMs`. */
  readonly silenceMs?: number
  /** Charged for the bytes received; the caller releases them at the end of the request. */
  readonly account?: Pick<ByteAccount, 'take'>
}

/** Options for reading one JSON body; `json` limits its depth and members. */
export interface JsonBodyOptions extends BodyOptions {
  readonly json?: JsonLimits
  /** Default: parses in the main thread. */
  readonly parser?: Pick<BodyParser, 'parse'>
  /** Awaited before the main thread works on the received bytes, whichever thread parses them. */
  readonly turn?: (bytes: number) => Promise<unknown>
  /** The sender of the body, for the turns at the parser. */
  readonly sender?: string
}

/**
 * The JSON object in a request's body; undefined when there is no body. Throws HubError: body_too_large, content_type,
 * encoding_not_supported, header_duplicate, json_encoding, and the errors of {@link parseJsonObject}.
 */
export async function readJsonBody(request: Request, options: JsonBodyOptions = {}): Promise<JsonObject | undefined> {
  const { headers } = request
  refuseAnnounced(headers, options.limit ?? LIMITS.bodyBytes)
  const type = headers.get('content-type')
  if (type !== null) requireJson(type)
  refuseEncoded(headers)
  const chunks = await readChunks(request, options)
  if (chunks.length === 0) return undefined
  if (type === null) requireJson('')
  const { json = {}, parser, sender = '', turn } = options
  // Before the chunks go to another thread.
  const bytes = bytesOf(chunks)
  if (parser && !parsedByMain(chunks, json)) {
    try {
      return await parser.parse(chunks, json, sender)
    } finally {
      // A body that is refused has cost as much.
      await turn?.(bytes)
    }
  }
  await turn?.(bytes)
  return parser ? parser.parse(chunks, json, sender) : parseJsonObject(decodeBody(await joined(chunks)), json)
}

/** The bytes of a body that is not JSON. Throws as {@link readBytes}, and `encoding_not_supported`. */
export function readRawBody(request: Request, options: BodyOptions): Promise<Uint8Array> {
  refuseEncoded(request.headers)
  return readBytes(request, options)
}

/**
 * Reads the bytes of a body. The account is charged the announced length before the first byte is read, or each chunk if no
 * length is announced; the limit always applies to the bytes received. Throws `body_too_large` at the first byte over the limit,
 * `quota_bytes` or `overloaded` from the account, `request_timeout` when nothing arrived for `silenceMs`, and `json_invalid`
 * when the client disconnected.
 */
export async function readBytes(request: Request, options: BodyOptions = {}): Promise<Uint8Array> {
  return joined(await readChunks(request, options))
}

/** The same, not joined; no chunk is empty. */
async function readChunks(request: Request, options: BodyOptions): Promise<readonly Uint8Array[]> {
  const { limit = LIMITS.bodyBytes, silenceMs = LIMITS.bodySilenceMs } = options
  refuseAnnounced(request.headers, limit)
  if (request.body === null) return []
  const announced = announcedBytes(request.headers)
  options.account?.take(announced)
  const reader = request.body.getReader()
  const chunks = new ChunkList()
  let length = 0
  try {
    for (;;) {
      const part = await within(reader.read(), silenceMs)
      if (!part) throw new HubError('request_timeout', `Nothing of the body came for ${Math.round(silenceMs / 1000)} s`)
      const { done, value } = part
      if (done) return chunks.end()
      length += value.byteLength
      if (length > limit) throw tooLarge(limit)
      if (length > announced) options.account?.take(Math.min(value.byteLength, length - announced))
      chunks.push(value)
    }
  } catch (error) {
    // The rest of the body is not needed, and an error while cancelling it does not matter.
    reader.cancel().catch(() => {})
    if (error instanceof HubError) throw error
    throw new HubError('json_invalid', 'The body ended before it was whole', { cause: error })
  }
}

function refuseAnnounced(headers: Headers, limit: number): void {
  if (announcedBytes(headers) > limit) throw tooLarge(limit)
}

/** The announced length in bytes; 0 if none is announced. */
function announcedBytes(headers: Headers): number {
  return Number(headers.get('content-length') ?? 0)
}

function tooLarge(limit: number): HubError {
  return new HubError('body_too_large', `The body is larger than ${limit} bytes`)
}

/** Requires `application/json` or a `+json` type such as `application/merge-patch+json`, in UTF-8. */
function requireJson(type: string): void {
  const [media = '', ...parameters] = type.split(';').map(part => part.trim().toLowerCase())
  if (type.includes(',')) throw new HubError('header_duplicate', 'The header "Content-Type" came twice')
  const charset = parameters.find(parameter => parameter.startsWith('charset='))?.slice('charset='.length)
  const utf8 = charset === undefined || /^"?utf-?8"?$/.test(charset)
  if (/^application\/(?:[\w.-]+\+)?json$/.test(media) && utf8) return
  throw new HubError('content_type', `The content type ${JSON.stringify(type.slice(0, 64))} is not accepted`)
}

function refuseEncoded(headers: Headers): void {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase()
  if (encoding === undefined || encoding === '' || encoding === 'identity') return
  throw new HubError('encoding_not_supported', 'Compressed request bodies are not accepted')
}
