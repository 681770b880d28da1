import type { LongMessage } from './definition.ts'

/** Longer keys and ids are ignored. */
const MOST_CHARACTERS = 64
/** Most messages of an array that are reported. */
const MOST_MESSAGES = 100
const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const BACKSLASH = 0x5c

/**
 * Finds the ids of a JSON-RPC message while it is skipped, in pieces cut anywhere and without keeping any of it: the
 * members of the outermost object are read, in any order. Bytes read as latin1 give the same result, since only ASCII
 * matters.
 */
export class LongMessageReader {
  readonly #answers: number[] = []
  readonly #requests: string[] = []
  #hasMethod = false
  /** Nesting level of the members that count: 2 in an array of messages. */
  #level = 0
  #depth = 0
  #inString = false
  #escaped = false
  #key: string | undefined
  #token = ''
  #id = ''
  #names = new Set<string>()

  /** The request that the only message answers; known before its end where its id comes first. */
  get answered(): number | undefined {
    return this.#level === 1 && !this.#names.has('method') ? this.#answeredId() : undefined
  }

  push(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) {
      if (this.#inString) {
        at = this.#string(piece, at)
        continue
      }
      const code = piece.charCodeAt(at)
      if (code === QUOTE) {
        this.#inString = true
        this.#keep('"')
        // Brackets and braces differ in this one bit.
      } else if ((code | 0x20) === 0x7b) this.#open(code === 0x5b)
      else if ((code | 0x20) === 0x7d) this.#close()
      else if (this.#depth === this.#level) this.#between(code, piece, at)
    }
  }

  end(): LongMessage {
    if (this.#depth >= this.#level) this.#messageEnds()
    return { answers: this.#answers, requests: this.#requests, hasMethod: this.#hasMethod }
  }

  /** Continues in a string; returns the index of its closing quote, or the end of the piece. */
  #string(piece: string, from: number): number {
    let start = from
    if (this.#escaped) start += 1
    this.#escaped = false
    for (;;) {
      const quote = piece.indexOf('"', start)
      const end = quote < 0 ? piece.length : quote
      let slashes = 0
      while (end - slashes > start && piece.charCodeAt(end - slashes - 1) === BACKSLASH) slashes += 1
      const escapes = slashes % 2 === 1
      if (quote >= 0 && escapes) {
        start = quote + 1
        continue
      }
      this.#keep(piece.slice(from, Math.min(end, from + MOST_CHARACTERS)))
      if (quote < 0) {
        this.#escaped = escapes
        return end
      }
      this.#inString = false
      this.#keep('"')
      return quote
    }
  }

  #open(isArray: boolean): void {
    if (this.#depth === 0) this.#level = isArray ? 2 : 1
    this.#depth += 1
    if (this.#depth === this.#level) this.#messageBegins()
  }

  #close(): void {
    if (this.#depth === this.#level) this.#messageEnds()
    this.#depth -= 1
  }

  #between(code: number, piece: string, at: number): void {
    if (code === COLON && this.#key === undefined) {
      this.#key = this.#token.replace(/^"|"$/g, '')
      this.#names.add(this.#key)
      this.#token = ''
    } else if (code === COMMA) this.#memberEnds()
    else this.#keep(piece.charAt(at).trim())
  }

  /** Keeps keys, and the value of an id. */
  #keep(text: string): void {
    if (this.#depth !== this.#level || (this.#key !== undefined && this.#key !== 'id')) return
    if (this.#token.length <= MOST_CHARACTERS) this.#token += text
  }

  #memberEnds(): void {
    if (this.#key === 'id') this.#id = this.#token
    this.#key = undefined
    this.#token = ''
  }

  #messageBegins(): void {
    this.#names = new Set()
    this.#id = ''
    this.#key = undefined
    this.#token = ''
  }

  #messageEnds(): void {
    this.#memberEnds()
    if (this.#names.has('method')) {
      this.#hasMethod = true
      const usable = this.#id.length <= MOST_CHARACTERS && /^(?:-?\d+|"(?:[^"\\]|\\.)*")$/.test(this.#id)
      if (usable && this.#requests.length < MOST_MESSAGES) this.#requests.push(this.#id)
    } else {
      const id = this.#answeredId()
      if (id !== undefined && this.#answers.length < MOST_MESSAGES) this.#answers.push(id)
    }
    this.#messageBegins()
  }

  /** Some servers write the hub's ids, which are numbers, as strings. */
  #answeredId(): number | undefined {
    if (!this.#names.has('result') && !this.#names.has('error')) return undefined
    const digits = /^("?)(\d{1,15})\1$/.exec(this.#id)?.[2]
    return digits === undefined ? undefined : Number(digits)
  }
}
