import ipaddr from 'ipaddr.js'
import { parseDuration } from '../domain/duration.ts'
import { checkName, isNameProblem } from '../domain/names.ts'
import { parseProxy } from '../domain/outbound/proxy.ts'
import { parseSize } from '../domain/size.ts'
import { wordIn } from '../domain/spelling/words.ts'

/** The result of parsing one text. `legal` completes the sentence "wanted: …". */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly legal: string }
/** Type of a value, for the form that shows a field for it. */
export type ValueType = 'boolean' | 'choice' | 'list' | 'number' | 'bytes' | 'duration' | 'text'

/** Parses the text of one environment variable. */
export interface Parser<T> {
  (text: string): Parsed<T>
  /** Default `text`. */
  readonly type?: ValueType
  /** The words that are taken, of a `choice`, or each of a `list`. */
  readonly choices?: readonly string[]
}

const ok = <T>(value: T): Parsed<T> => ({ ok: true, value })
const wanted = (legal: string): { readonly ok: false; readonly legal: string } => ({ ok: false, legal })
const typed = <T>(type: ValueType, parse: (text: string) => Parsed<T>, choices?: readonly string[]): Parser<T> =>
  Object.assign(parse, choices === undefined ? { type } : { type, choices })

/** Decimal digits only: no sign, no fraction, no exponent. */
export function integer(min: number, max: number): Parser<number> {
  return typed('number', text => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? ok(value) : wanted(`a whole number from ${min} to ${max}`)
  })
}

/** `true`, `false`, `1` or `0`, ignoring letter case. */
export function boolean(): Parser<boolean> {
  const values: Record<string, boolean> = { true: true, '1': true, false: false, '0': false }
  return typed('boolean', text => {
    const value = values[text.toLowerCase()]
    return value === undefined ? wanted('true, false, 1 or 0') : ok(value)
  })
}

/** A number from 0 to 1. */
export function ratio(): Parser<number> {
  return typed('number', text => {
    const value = /^(?:[01]|[01]?\.\d{1,15})$/.test(text) ? Number(text) : Number.NaN
    return value <= 1 ? ok(value) : wanted('a number from 0 to 1')
  })
}

/** A key of 32 bytes as base64, base64url or hex. */
export function key(): Parser<string> {
  return matching(
    /^(?:[A-Za-z0-9_-]{43}|[A-Za-z0-9+/]{43}=|[0-9A-Fa-f]{64})$/,
    '32 random bytes as base64, base64url or hex (openssl rand -base64 32)',
  )
}

/** One of these words, in any letter case; see `wordIn`. */
export function oneOf<T extends string>(...words: readonly T[]): Parser<T> {
  return typed(
    'choice',
    text => {
      const found = wordIn(words, text)
      return found === undefined ? wanted(`one of ${words.join(', ')}`) : ok(found)
    },
    words,
  )
}

/** The text itself if it matches; `legal` describes what would. */
export function matching(pattern: RegExp, legal: string): Parser<string> {
  return text => (pattern.test(text) ? ok(text) : wanted(legal))
}

/** Size in bytes: `100MB` is 100,000,000 and `10MiB` is 10,485,760; a bare number counts bytes. At least `least` bytes, 1 by default. */
export function size(least = 1): Parser<number> {
  return typed('bytes', text => {
    const bytes = parseSize(text) ?? 0
    const floor = least > 1 ? `, at least ${least} bytes` : ''
    return bytes >= least ? ok(bytes) : wanted(`a size such as 100MB, 100M, 10MiB or 1000000 bytes${floor}`)
  })
}

/** A duration such as `30d` or `12h`, in milliseconds; a bare number counts milliseconds. */
export function duration(min: number, max = Number.POSITIVE_INFINITY): Parser<number> {
  const legal =
    max === Number.POSITIVE_INFINITY ? '30d or 12h, at least' : `45s or 2m, at most ${max / 1_000} s and at least`
  return typed('duration', text => {
    const ms = parseDuration(/^\d+$/.test(text) ? Number(text) : text) ?? 0
    return ms >= min && ms <= max ? ok(ms) : wanted(`a duration such as ${legal} ${min / 1_000} s`)
  })
}

/** A user's name, normalized to NFC. */
export function userName(): Parser<string> {
  return text => {
    const checked = checkName('user', text)
    return isNameProblem(checked) ? wanted('1 to 64 letters, digits and _ - .') : ok(checked.name)
  }
}

/** Comma-separated list; spaces around items and empty items are ignored. */
export function list(item: Parser<string>): Parser<readonly string[]> {
  return typed(
    'list',
    text => {
      const values: string[] = []
      for (const part of text.split(',')) {
        const trimmed = part.trim()
        if (trimmed === '') continue
        const parsed = item(trimmed)
        if (!parsed.ok) return wanted(`a comma-separated list, each ${parsed.legal}`)
        if (!values.includes(parsed.value)) values.push(parsed.value)
      }
      return ok(values)
    },
    item.choices,
  )
}

/**
 * One network as CIDR, or one address. The result is canonical CIDR: `127.0.0.1` becomes `127.0.0.1/32`, and an
 * IPv4-mapped network (`::ffff:10.0.0.0/104`) the IPv4 network (`10.0.0.0/8`). A prefix of 0 means every address and is
 * allowed only with `allowAll`.
 */
export function network(options: { readonly allowAll: boolean }): Parser<string> {
  const legal = `an address (10.0.0.5) or a network in CIDR form (10.0.0.0/8, fd00::/8)${options.allowAll ? '' : ', never every address'}`
  return text => {
    const [address = '', prefix, ...rest] = text.split('/')
    if (rest.length > 0 || !isAddress(address)) return wanted(legal)
    const plain = ipaddr.process(address)
    const bits = plain.kind() === 'ipv4' ? 32 : 128
    const mappedBits = ipaddr.parse(address).kind() === plain.kind() ? 0 : 96
    const length = prefix === undefined ? bits : prefixBits(prefix) - mappedBits
    const least = options.allowAll ? 0 : 1
    return length >= least && length <= bits ? ok(`${plain.toString()}/${length}`) : wanted(legal)
  }
}

function isAddress(text: string): boolean {
  return !text.includes('%') && (ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text))
}

/** NaN for a text that is not a number. */
function prefixBits(text: string): number {
  return /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
}

/** A host name or address without scheme, port and path, in lower case. IPv6 in brackets, like `URL.hostname`. */
export function hostName(): Parser<string> {
  const legal = 'a host name or address without scheme, port and path'
  return text => {
    const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
    if (ipaddr.IPv6.isValid(bare)) return ok(`[${ipaddr.parse(bare).toString()}]`)
    return /^(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(text) ? ok(text.toLowerCase()) : wanted(legal)
  }
}

/** An argument of `listen`: a host name or address, IPv6 without brackets. */
export function bindAddress(): Parser<string> {
  const name = hostName()
  return text => {
    const parsed = name(text)
    return parsed.ok ? ok(parsed.value.replace(/^\[|\]$/g, '')) : parsed
  }
}

/** An absolute http or https URL without credentials, query and fragment; the result has no slash at its end. */
export function webUrl(): Parser<string> {
  const legal = 'a URL such as https://hub.example, without credentials, query and fragment'
  return text => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const plain = url && (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password
    return plain && !url.search && !url.hash && !text.includes('#') && !text.includes('?')
      ? ok(withoutEndSlashes(url.href))
      : wanted(legal)
  }
}

/** A loop instead of a regular expression, which would be quadratic in a long row of slashes. */
function withoutEndSlashes(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '/') end -= 1
  return text.slice(0, end)
}

/** Scheme, host and port, like a browser's `Origin`. */
export function origin(): Parser<string> {
  const legal = 'an origin such as https://hub.example:8443, nothing behind host and port'
  const url = webUrl()
  return text => {
    const parsed = url(text)
    return parsed.ok && new URL(parsed.value).origin === parsed.value ? parsed : wanted(legal)
  }
}

/** `/` gives an empty string; otherwise plain segments, each after one slash, without one at the end. */
export function basePath(): Parser<string> {
  return text => {
    const path = text.replace(/\/$/, '')
    const plain = /^(\/[A-Za-z0-9_~.-]+)*$/.test(path) && !path.split('/').some(part => part === '.' || part === '..')
    return plain && text.startsWith('/') ? ok(path) : wanted('/ or a path such as /hub, of letters, digits and _ ~ . -')
  }
}

/** A connection URL with one of these schemes. It may hold a password. */
export function connectionUrl(...schemes: readonly string[]): Parser<string> {
  return text =>
    URL.canParse(text) && schemes.includes(new URL(text).protocol)
      ? ok(text)
      : wanted(`a URL that begins with ${schemes.map(scheme => `${scheme}//`).join(' or ')}`)
}

/** Any text of `min` to `max` characters without control characters. */
export function text(min: number, max: number): Parser<string> {
  return value => {
    const length = [...value].length
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are refused
    const clean = !/[\u0000-\u001f\u007f]/.test(value)
    return clean && length >= min && length <= max
      ? ok(value)
      : wanted(`a text of ${min} to ${max} characters without control characters`)
  }
}

/** The URL of an HTTP proxy, which may hold a user and a password. Without a scheme it is http. */
export function proxyUrl(): Parser<string> {
  return text =>
    parseProxy(text)
      ? ok(text)
      : wanted('http://host:port or http://user:password@host:port; no https and no SOCKS proxy')
}

/** Hosts separated by commas or blanks, as other programs read `NO_PROXY`: an entry that names no host matches none. */
export function hostList(): Parser<readonly string[]> {
  return typed('list', text => ok([...new Set(text.split(/[\s,]+/).filter(entry => entry !== ''))]))
}
