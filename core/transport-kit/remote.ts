import { HubError } from '../contract/errors.ts'
import type { GuardedResponse } from '../contract/fetch.ts'
import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { TLS_CONFIG_SCHEMA } from './tls.ts'
import type { WireError } from './wire-error.ts'
import { toWireError } from './wire-error.ts'

/** Code shared by transports that use MCP over HTTP: their configuration, and the errors of failed exchanges. */

/** Address and headers of a remote server, validated. */
export interface RemoteConfig {
  /** http or https, in the form in which it is sent. */
  readonly url: string
  /** Headers as configured; {@link usableHeaders} removes those that cannot be sent. */
  readonly headers: Readonly<Record<string, string>>
}

/** Reads `url` and `headers`. Throws config_invalid. */
export function readRemoteConfig({ url, headers }: JsonObject): RemoteConfig {
  return { url: readUrl(url), headers: readHeaders(headers) }
}

function readUrl(value: unknown): string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new HubError('config_invalid', 'The server has no usable "url"; it must be an http or https address')
  }
  return url.href
}

function readHeaders(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string'
  const entries: [string, unknown][] = isJsonObject(value) ? Object.entries(value) : [['', value]]
  if (entries.every(isText)) return Object.fromEntries(entries)
  throw new HubError('config_invalid', 'The "headers" of the server must be an object of texts')
}

/** The JSON Schema of `url`, `headers` and `tls`, for a transport's form. */
export const REMOTE_CONFIG_SCHEMA: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['url'],
  additionalProperties: false,
  properties: {
    url: {
      type: 'string',
      format: 'uri',
      maxLength: 8192,
      title: 'Address',
      description: 'The MCP endpoint, http or https.',
      'x-zh': { title: '地址', description: 'MCP 端点，http 或 https。' },
    },
    headers: {
      type: 'object',
      format: 'http-headers',
      maxProperties: 64,
      additionalProperties: { type: 'string', maxLength: 8192 },
      default: {},
      title: 'Headers',
      description: 'Sent with every request. Host, framing headers and Mcp-* cannot be set.',
      'x-zh': { title: '请求头', description: '随每个请求发送。不能设置 Host、分帧头和 Mcp-*。' },
    },
    tls: TLS_CONFIG_SCHEMA,
  },
}

/** Set by the transport or the client under it; configured headers with these names are dropped. */
const RESERVED = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers in lower case, without those of the connection, of framing or of MCP. */
export function usableHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (!RESERVED.has(lower) && !lower.startsWith('mcp-')) kept[lower] = value
  }
  return kept
}

/** The content type in lower case, for comparing media types; empty if there is none. */
export function contentTypeOf({ headers }: Pick<GuardedResponse, 'headers'>): string {
  return headers['content-type']?.toLowerCase() ?? ''
}

/** The wait of `Retry-After` in seconds, given as such or as a date; undefined when it is not usable. */
export function waitSecondsOf({ headers }: Pick<GuardedResponse, 'headers'>): number | undefined {
  const retryAfter = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,5}$/.test(retryAfter)) return Number(retryAfter)
  // RFC 9110, 10.2.3: a date. By the clock of the server, which need not be that of the hub.
  const seconds = Math.ceil((dateOf(retryAfter) - dateOf(headers.date)) / 1_000)
  return seconds <= 99_999 ? Math.max(0, seconds) : undefined
}

/** Milliseconds of an HTTP date, which begins with the name of the day. */
function dateOf(text = ''): number {
  return /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) : Number.NaN
}

/** Words of errors about an MCP session. */
const SESSION_WORDS = /\bsession|\binitiali[sz]/i

/** Sent by a hub with HTTP 508: others use that status for limits of their own. */
export const LOOP_HEADER = 'x-patchbay-loop'

/** True for 404, 405 and 501: the server has no such path, or does not accept GET there. */
export function isMissingPath(status: number): boolean {
  return status === 404 || status === 405 || status === 501
}

/**
 * The error for an HTTP status, without anything of the body. `rpcCode` is the code of a JSON-RPC error in it; `session`: the
 * body mentions the MCP session.
 */
export function statusReason(
  response: Pick<GuardedResponse, 'status' | 'headers'>,
  rpcCode?: number,
  session = false,
): WireError {
  const { status } = response
  const waitSeconds = waitSecondsOf(response)
  const data = {
    status,
    ...(rpcCode === undefined ? {} : { rpcCode }),
    ...(waitSeconds === undefined ? {} : { retryAfterSeconds: waitSeconds }),
    ...(session ? { session } : {}),
  }
  if (status === 401 || status === 403) {
    const message = `The server refused the credential with HTTP ${status}; check the headers of the server`
    return { code: 'authorization_required', message, data }
  }
  if (status === 508 && response.headers[LOOP_HEADER] !== undefined)
    return {
      code: 'loop_detected',
      message: 'The address of the server leads back to this hub',
      data: { ...data, met: true },
    }
  if (status >= 300 && status < 400) {
    const message = `The server redirects with HTTP ${status}, which is not followed; set its final address as url`
    return { code: 'redirect_blocked', message, data }
  }
  const wait = waitSeconds === undefined ? '' : ` and asks to wait ${waitSeconds} s`
  return { code: 'upstream_http_error', message: `The server answered with HTTP ${status}${wait}`, data }
}

/** True when the text of an error mentions sessions or `initialize`. Only the first 1,000 characters are read. */
export function saysSession(text: string): boolean {
  return SESSION_WORDS.test(text.slice(0, 1_000))
}

/** The text of an error response if it is short and plain or JSON; undefined for others, which are not read. */
export async function readRefusal(response: GuardedResponse): Promise<string | undefined> {
  const type = contentTypeOf(response)
  const isRead = type.startsWith('application/json') || type.startsWith('text/plain')
  if (isRead) return await response.text().catch(() => undefined)
  response.cancel()
  return undefined
}

/** Error for a session that the server no longer has; HTTP reports it by 404, and some servers by 400. */
export function sessionLost(status = 404): WireError {
  return { code: 'connection_lost', message: `The server has ended the session (HTTP ${status})`, data: { status } }
}

/** True when nothing of the request was written, according to the guarded fetch. */
export function wasNotSent(error: unknown): boolean {
  return error instanceof HubError && error.data?.sent === false
}

/** The reason of a failed exchange. A RangeError comes from an event that is too long. */
export function reasonOf(error: unknown): WireError {
  if (!(error instanceof RangeError)) return toWireError(error)
  return { code: 'upstream_protocol', message: `The server sent a stream that cannot be read: ${error.message}` }
}
