import { type GuardedResponse, type HubError, isJsonObject } from 'patchbay/contract'
import { type AnswerResult, waitSecondsOf } from 'patchbay/transport-kit'
import { cut } from './schema-keywords.ts'
import { isTooLong } from './too-long.ts'

/** Most bytes of an error's body that are returned. */
const ERROR_BYTES = 8 * 1024

type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string }
    }

/** A response of the API as the result of a tool. `url` is its address; the query is not shown. */
export async function resultOf(response: GuardedResponse, url: string): Promise<AnswerResult> {
  const { status, headers } = response
  const type = headers['content-type'] ?? ''
  let bytes: Uint8Array
  try {
    bytes = await response.bytes()
  } catch (error) {
    if (isTooLong(error)) return tooLarge(status, error)
    throw error
  }
  if (status < 200 || status > 299) return failure(response, url, type, bytes)
  return bytes.byteLength === 0 ? written([text(`HTTP ${status}, no content`)]) : contentOf(bytes, type, url)
}

function contentOf(bytes: Uint8Array, type: string, url: string): AnswerResult {
  const media = mediaType(type)
  if (isJson(media)) return json(decode(bytes, type))
  if (/^(?:image|audio)\//.test(media)) {
    return written([{ type: media.startsWith('image/') ? 'image' : 'audio', data: base64(bytes), mimeType: media }])
  }
  const plain = isText(media) ? decode(bytes, type) : media === '' ? asUtf8(bytes) : undefined
  if (plain !== undefined) return written([text(plain)])
  const { origin, pathname } = new URL(url)
  const resource = { uri: origin + pathname, mimeType: media || 'application/octet-stream', blob: base64(bytes) }
  return written([{ type: 'resource', resource }])
}

/** The text of the body unchanged, and also as structured content if it is an object. */
function json(body: string): AnswerResult {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return written([text(body)])
  }
  // Unchanged, so that no digit of a long number is lost; line ends are white space between tokens.
  return written([text(body)], isJsonObject(value) ? body.replace(/[\r\n]+/g, ' ') : undefined)
}

function failure(response: GuardedResponse, url: string, type: string, bytes: Uint8Array): AnswerResult {
  const { status, headers } = response
  const { location } = headers
  const waitSeconds = waitSecondsOf(response)
  const wait = waitSeconds === undefined ? '' : `, asks to wait ${waitSeconds} s`
  const redirect = status >= 300 && status < 400
  const where = redirect && location !== undefined ? ` to ${placeOf(location, url)}, which is not followed` : ''
  const head = `HTTP ${status}${redirect ? ' redirect' : ''}${where}${wait}`
  const excerpt = bytes.subarray(0, ERROR_BYTES)
  const media = mediaType(type)
  const body = isJson(media) || isText(media) ? decode(excerpt, type) : asUtf8(excerpt)
  const rest = bytes.byteLength > ERROR_BYTES ? `\n… (${bytes.byteLength} bytes in all)` : ''
  const shown = body === undefined ? `(${bytes.byteLength} bytes of ${cut(media || 'no type', 100)})` : body + rest
  return { ...written([text(bytes.byteLength === 0 ? head : `${head}\n\n${shown}`)], undefined, true) }
}

/** A Location on the API's own origin; another one is left out, since it may hold a secret or name an internal host. */
function placeOf(location: string, url: string): string {
  const isOwn = URL.parse(location, url)?.origin === new URL(url).origin
  return isOwn ? JSON.stringify(location.slice(0, 200)) : 'another origin'
}

function tooLarge(status: number, { data }: HubError): AnswerResult {
  const limit = `${data?.maxBytes} bytes, the server's "maxResultBytes"`
  const message = `result_too_large: the API answered HTTP ${status} with more than ${limit}; ask for less of it`
  return written([text(message)], undefined, true)
}

function written(content: readonly Block[], structured?: string, isError = false): AnswerResult {
  const extra = structured === undefined ? '' : `,"structuredContent":${structured}`
  return { text: `{"content":${JSON.stringify(content)}${extra}${isError ? ',"isError":true' : ''}}`, isError }
}

function text(value: string): Block {
  return { type: 'text', text: value }
}

function mediaType(type: string): string {
  return type.split(/[;,]/)[0]?.trim().toLowerCase() ?? ''
}

function isJson(media: string): boolean {
  return /^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(media)
}

function isText(media: string): boolean {
  return (
    media.startsWith('text/') ||
    /^application\/(?:[\w.+-]+\+)?(?:xml|yaml|x-yaml|javascript|graphql|x-ndjson|jsonl|csv|sql|x-www-form-urlencoded)$/.test(
      media,
    )
  )
}

function decode(bytes: Uint8Array, type: string): string {
  const charset = /;\s*charset="?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    // An unknown charset.
    return new TextDecoder().decode(bytes)
  }
}

/** The text of bytes that are UTF-8 without control characters; an incomplete character at the end is dropped. */
function asUtf8(bytes: Uint8Array): string | undefined {
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they distinguish bytes from text
    return /[\x00-\x08\x0e-\x1a\x1c-\x1f]/.test(decoded) ? undefined : decoded
  } catch {
    return undefined
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
