import { HubError } from '../contract/errors.ts'
import { headerItems } from '../request/headers.ts'

const CHAIN_HEADER = 'x-patchbay-instance'

/** Longest head of a response, in bytes, including interim responses (1xx) before it. */
export const MAX_HEAD_BYTES = 64 * 1024
const MAX_FIELDS = 200

/** Method of finding the end of a response body. */
export type Framing = 'none' | 'chunked' | 'close' | number

/** One parsed response head. Shared between responses with the same text, hence immutable. */
export interface ResponseHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Determined as if the response may have a body; the response to a HEAD request has none, whatever this value is. */
  readonly framing: Framing
  readonly keepAlive: boolean
  /** Seconds from `Keep-Alive: timeout=…`, if the server sent it. */
  readonly idleSeconds: number | undefined
}

/** Headers that frame a request or control the connection: only the client writes them. */
const OWN_FIELDS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it must find
const NOT_IN_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/

/**
 * The head of a request, except the length of its body.
 * Throws `config_invalid` for a name or value that would break the head, or that a caller may not set.
 */
export function renderHead(
  method: string,
  target: URL,
  headers: Readonly<Record<string, string>>,
  instanceId: string,
): string {
  if (!TOKEN.test(method)) throw unusable(`The method "${method}" is no HTTP method`)
  let head = `${method} ${target.pathname}${target.search} HTTP/1.1\r\nhost: ${target.host}\r\n`
  const seen = new Set<string>()
  let chain = instanceId
  for (const name in headers) {
    const value = headers[name] ?? ''
    const lower = name.toLowerCase()
    checkField(name, value)
    if (seen.has(lower)) throw unusable(`The header "${name}" comes twice, in different letter case`)
    seen.add(lower)
    // The hubs that the call has passed through.
    if (lower === CHAIN_HEADER) chain = `${value.trim()}, ${instanceId}`
    else head += `${name}: ${value.trim()}\r\n`
  }
  if (!seen.has('user-agent')) head += 'user-agent: patchbay\r\n'
  if (!seen.has('accept-encoding')) head += 'accept-encoding: gzip, deflate, br\r\n'
  return `${head}${CHAIN_HEADER}: ${chain}\r\n`
}

/** Throws `config_invalid` for a field that a caller may not set. */
function checkField(name: string, value: string): void {
  if (!TOKEN.test(name)) throw unusable(`The header name "${name.slice(0, 64)}" is not valid`)
  if (OWN_FIELDS.has(name.toLowerCase())) throw unusable(`The header "${name}" is set by the hub itself`)
  if (NOT_IN_VALUE.test(value)) throw unusable(`The value of the header "${name}" holds a control character`)
}

/**
 * Parses a response head, from the status line to before the empty line. Strict: anything that two parsers could
 * interpret differently is rejected, since a kept-alive connection would then deliver one caller's response to another.
 * Throws `upstream_protocol`.
 */
export function parseHead(text: string): ResponseHead {
  const lines = text.split('\r\n')
  const status = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/.exec(lines[0] ?? '')
  if (!status || NOT_IN_VALUE.test(lines[0] ?? '')) throw malformed('its status line is not HTTP/1.1')
  if (lines.length > MAX_FIELDS) throw malformed(`its head has more than ${MAX_FIELDS} fields`)
  const headers: Record<string, string> = Object.create(null)
  for (let index = 1; index < lines.length; index++) {
    const { name, value } = parseField(lines[index] ?? '')
    const before = headers[name]
    if (before !== undefined && (name === 'content-length' || name === 'transfer-encoding')) {
      throw malformed(`"${name}" comes twice`)
    }
    headers[name] = before === undefined ? value : `${before}, ${value}`
  }
  const code = Number(status[2])
  const minor = Number(status[1])
  const connection = headerItems(headers.connection)
  const framing = framingOf(code, minor, headers)
  return Object.freeze({
    status: code,
    headers: Object.freeze(headers),
    framing,
    keepAlive:
      framing !== 'close' && !connection.includes('close') && (minor === 1 || connection.includes('keep-alive')),
    idleSeconds: idleSecondsOf(headers['keep-alive']),
  })
}

function parseField(line: string): { readonly name: string; readonly value: string } {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
  // A folded line and a space before the colon have no name.
  if (!TOKEN.test(name)) throw malformed('a header name is not valid')
  // Checked before it is trimmed: other parsers interpret a bare LF at its end as the end of the head.
  if (NOT_IN_VALUE.test(line)) throw malformed('a header value holds a control character')
  return { name, value: withoutBlanks(line.slice(colon + 1)) }
}

/** Without surrounding spaces and tabs. `trim()` removes more than HTTP allows, such as a no-break space. */
function withoutBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text.charCodeAt(from))) from += 1
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1
  return text.slice(from, to)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function framingOf(status: number, minor: number, headers: Readonly<Record<string, string>>): Framing {
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  if (coding !== undefined) {
    if (length !== undefined) throw malformed('it has both a length and a transfer coding')
    if (minor === 0 || coding.toLowerCase() !== 'chunked') throw malformed('its transfer coding is not "chunked"')
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw malformed('its content length is no number')
  if (status < 200 || status === 204 || status === 304) return 'none'
  if (coding !== undefined) return 'chunked'
  return length === undefined ? 'close' : Number(length)
}

function idleSecondsOf(value: string | undefined): number | undefined {
  const timeout = value === undefined ? null : /(?:^|[\s,;])timeout=(\d{1,6})(?:$|[\s,;])/i.exec(value)
  return timeout ? Number(timeout[1]) : undefined
}

function unusable(message: string): HubError {
  return new HubError('config_invalid', `${message}; correct the headers of the server`)
}

/** The error for a response that violates HTTP; `why` continues "the answer cannot be read: ". Never quotes it. */
export function malformed(why: string): HubError {
  return new HubError('upstream_protocol', `The server's HTTP answer cannot be read: ${why}`)
}
