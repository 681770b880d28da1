import { Buffer } from 'node:buffer'
import type { FieldError } from '../../contract/errors.ts'
import { pointerToken } from '../json/json-pointer.ts'
import { quoteName } from '../names.ts'

/** Most headers of one server. */
export const HEADER_COUNT = 64
/** Limit of all headers of one server together, in bytes. */
export const HEADER_BYTES = 32 * 1024
const HEADER_NAME_CHARACTERS = 256
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

/** Headers of the connection, of framing or of MCP itself: the hub sets them. */
const RESERVED = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'content-encoding',
  'expect',
  'last-event-id',
])

type Report = (error: FieldError) => void

/** The schemes of addresses that do not name others. */
export const HTTP_SCHEMES: readonly string[] = ['http', 'https']

/** Validates a URL with its variables filled in. Returns the URL, or undefined after a report. */
export function checkUrl(
  text: string,
  pointer: string,
  report: Report,
  schemes: readonly string[] = HTTP_SCHEMES,
): URL | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not be in a URL
  if (/[\u0000-\u0020\u007f]/.test(text)) {
    report({ pointer, code: 'url_invalid', detail: 'The URL holds a space or a control character' })
    return undefined
  }
  if (!text.isWellFormed()) {
    report({ pointer, code: 'url_invalid', detail: 'The URL holds half a character' })
    return undefined
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
  if (scheme !== undefined && !schemes.includes(scheme)) {
    const wanted = schemes.map(one => `${one}://`).join(' or ')
    const detail = `The URL begins with ${quoteName(`${scheme}:`)}; it must begin with ${wanted}`
    report({ pointer, code: 'url_scheme', detail })
    return undefined
  }
  const url = scheme === undefined || !/^[^:]+:\/\//.test(text) ? null : URL.parse(text)
  if (!url || !isHostName(url.hostname) || url.port === '0') {
    report({ pointer, code: 'url_invalid', detail: `${quoteName(shownUrl(text))} is not a URL` })
    return undefined
  }
  if (url.username !== '' || url.password !== '') {
    const detail = 'The URL holds a user name or password; send them in the Authorization header instead'
    report({ pointer, code: 'url_credentials', detail })
    return undefined
  }
  return url
}

/** DNS names have no empty labels, except at the end, and none over 63 characters. */
function isHostName(host: string): boolean {
  if (host.startsWith('[')) return true
  const labels = host.replace(/\.$/, '').split('.')
  return host.length <= 254 && labels.every(label => label !== '' && label.length <= 63)
}

/** The part of a URL that may be shown: a query may hold a key, and the part before @ a password. */
function shownUrl(text: string): string {
  return text.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')
}

/** Validates headers with their variables filled in. */
export function checkHeaders(headers: Readonly<Record<string, string>>, pointer: string, report: Report): void {
  const seen = new Map<string, string>()
  const entries = Object.entries(headers)
  const bytes = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value) + 4, 0)
  if (entries.length > HEADER_COUNT || bytes > HEADER_BYTES) {
    const detail = `At most ${HEADER_COUNT} headers of ${HEADER_BYTES} bytes in all, not ${entries.length} of ${bytes}`
    report({ pointer, code: 'headers_too_large', detail })
    return
  }
  for (const [name, value] of entries) {
    const at = `${pointer}/${pointerToken(name)}`
    checkHeaderName(name, at, report)
    if (!PRINTABLE_ASCII.test(value)) {
      const detail = `The value of the header ${quoteName(name)} may hold printable ASCII only`
      report({ pointer: at, code: 'header_value', detail })
    }
    const lower = name.toLowerCase()
    const duplicate = seen.get(lower)
    if (duplicate !== undefined) {
      const detail = `The headers ${quoteName(duplicate)} and ${quoteName(name)} differ in letter case only`
      report({ pointer: at, code: 'duplicate', detail })
    }
    seen.set(lower, name)
  }
}

function checkHeaderName(name: string, pointer: string, report: Report): void {
  if (!TOKEN.test(name) || name.length > HEADER_NAME_CHARACTERS) {
    report({ pointer, code: 'header_name', detail: `${quoteName(name)} is not a header name` })
  } else if (RESERVED.has(name.toLowerCase()) || /^mcp-/i.test(name)) {
    report({ pointer, code: 'header_reserved', detail: `The header "${name}" is made by the hub itself` })
  }
}

/** Validates the names of client headers to pass on; a client's credentials and cookies never are. */
export function checkPassthroughHeader(name: string, pointer: string, report: Report): void {
  if (/^(?:authorization|cookie|set-cookie|x-auth-token)$/i.test(name)) {
    report({ pointer, code: 'header_reserved', detail: `The client's header "${name}" is never passed on` })
  } else checkHeaderName(name, pointer, report)
}
