import { Buffer } from 'node:buffer'
import { ByteSearch, mergeSpans } from './byte-search.ts'
import { decodeEscapes, type Escaping, JSON_ESCAPES, mapOffsets, PERCENT } from './decoded-bytes.ts'
import { SHORTEST_SECRET, secretForms } from './secret-forms.ts'

const REDACTED = '[redacted]'
/** Nested encodings that are decoded: a JSON text inside JSON inside an address. */
const DECODINGS = 3
const ESCAPINGS = [PERCENT, JSON_ESCAPES]
const MARKERS = [PERCENT.marker, JSON_ESCAPES.marker] as const
const DEEPEST = 16
/** Number of member names whose result is cached. */
const KEPT_KEYS = 1_000
const LONGEST_KEY = 64

const SECRET_KEY =
  /^(?:.*[_.-])?(?:authorization|cookie|set_cookie|password|passwd|pwd|secret|token|api_?key|apikey|private_?key|credentials?)$/

/** Identifying members of records. They are never rewritten: access to the record is restricted instead. */
const IDENTIFYING = new Set([
  ...['server', 'serverId', 'owner', 'ownerId', 'user', 'userId', 'actor', 'target', 'address', 'tool', 'group'],
  ...['requestId', 'sessionId', 'plugin', 'hash', 'code', 'level', 'status', 'method'],
])

/**
 * Redacts the secrets of one scope in texts and records: those of one server, or the keys that the hub generated. Secrets of
 * different owners never share a redactor: a user who can write a text and read it redacted could test guesses. A secret is
 * found unencoded, in base64 (standard and URL alphabet, at any offset), in hexadecimal, and each of these percent-encoded or
 * JSON-escaped in any spelling, nested up to three times. Costs a few passes over the text, whatever the number of secrets. In a
 * text cut short with `…`, the beginning of a secret before that mark matches too.
 */
export class Redactor {
  readonly #secrets: Set<string>
  /** Results of `isSecretKey` by member name: records repeat the same names. */
  readonly #secretKeys = new Map<string, boolean>()
  #search: ByteSearch | undefined

  /** Secrets under 8 characters are ignored. */
  constructor(secrets: Iterable<string> = []) {
    this.#secrets = new Set([...secrets].filter(({ length }) => length >= SHORTEST_SECRET))
  }

  /** The secrets to search for. */
  get secrets(): readonly string[] {
    return [...this.#secrets]
  }

  add(...secrets: readonly string[]): void {
    for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) this.#secrets.add(secret)
    this.#search = undefined
  }

  /** The text with each secret replaced by `[redacted]`. */
  text(text: string): string {
    if (this.#secrets.size === 0 || text.length < SHORTEST_SECRET) return text
    // Built on first use: most servers start and stop without a text to redact.
    this.#search ??= new ByteSearch([...this.#secrets].flatMap(secretForms))
    // Nearly every text of a log is plain, and reads in a fifth of the time without becoming bytes.
    if (this.#search.isAbsent(text, MARKERS)) return text
    const bytes = Buffer.from(text)
    const spans = searchDecoded(this.#search, bytes, DECODINGS)
    return spans.length === 0 ? text : replaceSpans(text, bytes.length === text.length ? spans : inUnits(text, spans))
  }

  /** A copy that is safe to log: texts redacted except identifying members, and values of keys that name a secret
   * replaced. */
  record<T>(value: T): T {
    return this.#copy(value, 0, new Set()) as T
  }

  /** One member of a record, as `record` makes it. */
  member(key: string, item: unknown): unknown {
    if (typeof item === 'string') return this.#text(key, item)
    return typeof item === 'object' ? this.#copy(item, 1, new Set()) : item
  }

  #copy(value: unknown, depth: number, above: Set<object>): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > DEEPEST) return '[too deep]'
    if (above.has(value)) return '[circular]'
    above.add(value)
    try {
      if (Array.isArray(value)) return value.map(item => this.#copy(item, depth + 1, above))
      if (value instanceof Error) return this.#copy(errorFields(value), depth, above)
      if ('toJSON' in value && typeof value.toJSON === 'function') return this.#copy(value.toJSON(), depth + 1, above)
      const prototype = Object.getPrototypeOf(value) as unknown
      if (prototype !== Object.prototype && prototype !== null) return this.text(String(value))
      return this.#members(value as Readonly<Record<string, unknown>>, depth, above)
    } finally {
      above.delete(value)
    }
  }

  #members(value: Readonly<Record<string, unknown>>, depth: number, above: Set<object>): Record<string, unknown> {
    const copy: Record<string, unknown> = {}
    // A loop costs a third of a list of pairs, and every record is copied here.
    for (const key of Object.keys(value)) {
      const item = this.#member(key, value[key], depth, above)
      if (key === '__proto__') Object.defineProperty(copy, key, { value: item, enumerable: true })
      else copy[key] = item
    }
    return copy
  }

  #member(key: string, item: unknown, depth: number, above: Set<object>): unknown {
    return typeof item === 'string' ? this.#text(key, item) : this.#copy(item, depth + 1, above)
  }

  #text(key: string, item: string): string {
    if (this.#isSecretKey(key)) return REDACTED
    return IDENTIFYING.has(key) ? item : this.text(item)
  }

  #isSecretKey(key: string): boolean {
    const known = this.#secretKeys.get(key)
    if (known !== undefined) return known
    const found = isSecretKey(key)
    if (this.#secretKeys.size < KEPT_KEYS && key.length <= LONGEST_KEY) this.#secretKeys.set(key, found)
    return found
  }
}

/** True when a key names a secret: `Authorization`, `x-api-key`, `refreshToken`, `client_secret`; not `tokens` or `tokenId`. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(
    key
      .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
      .replaceAll('-', '_')
      .toLowerCase(),
  )
}

/** Matches in the bytes themselves and in their decodings, as spans of `bytes`. */
function searchDecoded(search: ByteSearch, bytes: Uint8Array, decodings: number): readonly number[] {
  const found: (readonly number[])[] = [search.find(bytes), search.findCut(bytes)]
  if (decodings > 0) {
    for (const escaping of ESCAPINGS) found.push(searchEscaped(search, bytes, escaping, decodings))
  }
  return mergeSpans(found)
}

function searchEscaped(
  search: ByteSearch,
  bytes: Uint8Array,
  escaping: Escaping,
  decodings: number,
): readonly number[] {
  const decoded = decodeEscapes(bytes, escaping)
  if (!decoded) return []
  const spans = searchDecoded(search, decoded, decodings - 1)
  return spans.length === 0 ? [] : mapOffsets(bytes, escaping, spans)
}

/** Spans of UTF-8 bytes as spans of UTF-16 code units. */
function inUnits(text: string, spans: readonly number[]): number[] {
  const units: number[] = []
  let bytes = 0
  for (let unit = 0; unit <= text.length && units.length < spans.length; unit += 1) {
    while (units.length < spans.length && (spans[units.length] ?? 0) <= bytes) units.push(unit)
    const width = utf8Width(text, unit)
    bytes += width
    // A pair of surrogates.
    if (width === 4) unit += 1
  }
  return units
}

/** Number of UTF-8 bytes of the character at `unit`; 4: it has two code units. */
function utf8Width(text: string, unit: number): 1 | 2 | 3 | 4 {
  const code = text.charCodeAt(unit)
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code >= 0xd800 && code <= 0xdbff && (text.charCodeAt(unit + 1) & 0xfc00) === 0xdc00 ? 4 : 3
}

function replaceSpans(text: string, spans: readonly number[]): string {
  const kept: string[] = []
  let from = 0
  for (let at = 0; at < spans.length; at += 2) {
    kept.push(text.slice(from, spans[at]))
    from = spans[at + 1] ?? text.length
  }
  kept.push(text.slice(from))
  return kept.join(REDACTED)
}

function errorFields(error: Error): Record<string, unknown> {
  return {
    name: error.name,
    message: error.message,
    ...('code' in error ? { code: error.code } : {}),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  }
}
