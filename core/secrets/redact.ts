import { Buffer } from 'node:buffer'

const REDACTED = '[redacted]'

/** Shorter secrets are not looked for: they would blot out ordinary words. */
const SHORTEST_SECRET = 6
/** Variants are found by their first characters; no variant is shorter. */
const PREFIX = 6
/** Slots of the table by which most places of a text are passed over; a power of two. */
const SLOTS = 65_536
const DEEPEST = 16
/** Keys whose meaning is remembered; records have few different ones. */
const KNOWN_KEYS = 1_000

const SECRET_KEY =
  /^(?:.*[_.-])?(?:authorization|cookie|set_cookie|password|passwd|pwd|secret|token|api_?key|apikey|private_?key|credentials?)$/

/**
 * Takes live secrets out of texts and records before anything leaves the hub: as they are, inside base64 (standard and URL
 * alphabet, at any offset), in hexadecimal, percent-encoded in the usual ways and as JSON writes them. Costs one pass over the
 * text, however many there are.
 */
export class Redactor {
  /** How often each secret was added. */
  readonly #live = new Map<string, number>()
  /** Variants by their first characters, longest first. */
  readonly #variants = new Map<string, string[]>()
  readonly #uses = new Map<string, number>()
  /** How many variants begin with characters of each hash. */
  readonly #begins = new Uint32Array(SLOTS)
  /** Whether these keys name secrets. */
  readonly #keys = new Map<string, boolean>()

  /** Secrets under 6 characters are ignored. Each `add` wants its own `remove`. */
  add(secret: string): void {
    if (secret.length < SHORTEST_SECRET) return
    const count = this.#live.get(secret) ?? 0
    this.#live.set(secret, count + 1)
    if (count === 0) for (const variant of variantsOf(secret)) this.#addVariant(variant)
  }

  remove(secret: string): void {
    const count = this.#live.get(secret)
    if (count === undefined) return
    if (count > 1) this.#live.set(secret, count - 1)
    else {
      this.#live.delete(secret)
      for (const variant of variantsOf(secret)) this.#removeVariant(variant)
    }
  }

  /** The text with each live secret replaced by `[redacted]`. */
  text(text: string): string {
    if (this.#live.size === 0 || text.length < PREFIX) return text
    let kept = 0
    let result = ''
    for (let at = 0; at <= text.length - PREFIX; at += 1) {
      if (this.#begins[slotAt(text, at)] === 0) continue
      const found = this.#variants.get(text.slice(at, at + PREFIX))?.find(variant => text.startsWith(variant, at))
      if (found === undefined) continue
      result += text.slice(kept, at) + REDACTED
      kept = at + found.length
      at = kept - 1
    }
    return kept === 0 ? text : result + text.slice(kept)
  }

  /** A copy of a value that may be logged: its texts redacted, and every text whose key names a secret. */
  record<T>(value: T): T {
    return this.#copy(value, 0, new Set()) as T
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
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => [
          this.text(key),
          typeof item === 'string' && this.#namesSecret(key) ? REDACTED : this.#copy(item, depth + 1, above),
        ]),
      )
    } finally {
      above.delete(value)
    }
  }

  #namesSecret(key: string): boolean {
    const known = this.#keys.get(key)
    if (known !== undefined) return known
    if (this.#keys.size >= KNOWN_KEYS) this.#keys.clear()
    const names = isSecretKey(key)
    this.#keys.set(key, names)
    return names
  }

  #addVariant(variant: string): void {
    const uses = this.#uses.get(variant) ?? 0
    this.#uses.set(variant, uses + 1)
    if (uses > 0) return
    const prefix = variant.slice(0, PREFIX)
    const list = this.#variants.get(prefix) ?? []
    list.push(variant)
    list.sort((left, right) => right.length - left.length)
    this.#variants.set(prefix, list)
    this.#begins[slotAt(variant, 0)]! += 1
  }

  #removeVariant(variant: string): void {
    const uses = this.#uses.get(variant) ?? 0
    if (uses > 1) {
      this.#uses.set(variant, uses - 1)
      return
    }
    this.#uses.delete(variant)
    const prefix = variant.slice(0, PREFIX)
    const left = (this.#variants.get(prefix) ?? []).filter(candidate => candidate !== variant)
    if (left.length === 0) this.#variants.delete(prefix)
    else this.#variants.set(prefix, left)
    this.#begins[slotAt(variant, 0)]! -= 1
  }
}

/** Whether a key names a secret: `Authorization`, `x-api-key`, `refreshToken`, `client_secret`; not `tokens` or `tokenId`. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(
    key
      .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
      .replaceAll('-', '_')
      .toLowerCase(),
  )
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

function slotAt(text: string, at: number): number {
  const low = text.charCodeAt(at) ^ (text.charCodeAt(at + 1) << 4)
  const high = (text.charCodeAt(at + 2) << 7) ^ (text.charCodeAt(at + 3) << 10)
  return (low ^ high) & (SLOTS - 1)
}

function variantsOf(secret: string): Set<string> {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const variants = new Set([secret, escaped, JSON.stringify(escaped).slice(1, -1), asciiOnly(escaped)])
  for (const text of percentForms(secret))
    variants.add(text).add(text.replace(/%[0-9A-F]{2}/g, hex => hex.toLowerCase()))
  for (const text of [...base64Forms(secret, 'utf8'), ...latin1Forms(secret)])
    variants.add(text).add(text.replaceAll('+', '-').replaceAll('/', '_'))
  const hex = Buffer.from(secret).toString('hex')
  return variants.add(hex).add(hex.toUpperCase())
}

/** As writers of JSON have it that keep to ASCII. */
function asciiOnly(escaped: string): string {
  return escaped.replace(/[\u007f-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** As a component of an address, by RFC 3986 to the letter, in a form, and as an address leaves it where it may. */
function percentForms(secret: string): string[] {
  // Half a surrogate pair has no UTF-8 form, and these functions refuse it.
  const whole = secret.toWellFormed()
  const component = encodeURIComponent(whole)
  const strict = component.replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = new URLSearchParams([['', whole]]).toString().slice(1)
  return [component, component.replaceAll('%20', '+'), strict, form, encodeURI(whole)]
}

/** As `btoa` and older HTTP clients have it, where that is something else. */
function latin1Forms(secret: string): string[] {
  return /[\u0080-\u00ff]/.test(secret) && !/[\u0100-\uffff]/.test(secret) ? base64Forms(secret, 'latin1') : []
}

/** The characters of base64 that depend on the secret alone, for each of the three offsets at which it may begin. */
function base64Forms(secret: string, encoding: 'utf8' | 'latin1'): string[] {
  const bytes = Buffer.from(secret, encoding)
  return [0, 1, 2].flatMap(offset => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    const form = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
    return form.length < PREFIX ? [] : [form]
  })
}
