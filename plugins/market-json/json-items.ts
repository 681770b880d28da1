/** One item of a large document, as its own text. */
export interface JsonItem {
  /** The member's name; absent in an array. */
  readonly key?: string
  readonly text: string
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const SPACE = 0x20
/** Members of a document that hold its list. */
const LISTS = new Set(['"templates"', '"servers"'])
const KEY_CHARACTERS = 256

/**
 * Cuts a large JSON document into the objects of its list while it arrives, so that the whole is never in memory: the elements
 * of an array, or the values of an object's members. An array in a member `templates` or `servers` is that list. Items over
 * `mostCharacters` are counted and dropped. It only finds the ends of items; parsing each of them shows whether it is valid.
 */
export class JsonItems {
  /** Items that were too large. */
  dropped = 0
  readonly #mostCharacters: number
  readonly #take: (item: JsonItem) => void
  #depth = 0
  /** Number of open brackets at which items are found. */
  #listDepth = 1
  #isStarted = false
  #isObject = false
  #inString = false
  #isEscaped = false
  /** The last text with its quotes, of those that may be a name. */
  #name = ''
  /** Pieces of the present item; undefined between items. */
  #item: string[] | undefined
  #characters = 0

  constructor(mostCharacters: number, take: (item: JsonItem) => void) {
    this.#mostCharacters = mostCharacters
    this.#take = take
  }

  /** Throws SyntaxError for a text that is neither an array nor an object. */
  write(chunk: string): void {
    let from = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const edge = this.#step(chunk.charCodeAt(at), chunk, at)
      if (edge === 'begin') from = at
      else if (edge === 'end') {
        this.#keep(chunk.slice(from, at + 1))
        this.#flush()
      }
    }
    if (this.#item) this.#keep(chunk.slice(from))
  }

  /** Returns whether an item begins or ends with this character. */
  #step(code: number, chunk: string, at: number): 'begin' | 'end' | undefined {
    if (this.#inString) this.#stringGoesOn(code, chunk, at)
    else if (code === QUOTE) {
      this.#inString = true
      if (!this.#item) this.#name = '"'
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) return this.#open(code) ? 'begin' : undefined
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) return this.#close() ? 'end' : undefined
    if (this.#depth === 0 && code > SPACE) throw new SyntaxError('It is neither a JSON array nor an object')
    return undefined
  }

  /** Throws SyntaxError for a document that was cut. */
  end(): void {
    if (this.#depth > 0 || !this.#isStarted) throw new SyntaxError('The document ends before its last bracket')
  }

  #stringGoesOn(code: number, chunk: string, at: number): void {
    if (!this.#item && this.#name.length < KEY_CHARACTERS) this.#name += chunk[at]
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === BACKSLASH) this.#isEscaped = true
    else if (code === QUOTE) this.#inString = false
  }

  /** True where an item begins. */
  #open(code: number): boolean {
    const depth = this.#depth
    this.#depth += 1
    if (this.#item) return false
    if (depth === 0) {
      this.#isStarted = true
      this.#isObject = code === OPEN_BRACE
      return false
    }
    if (depth === 1 && this.#isObject && code === OPEN_BRACKET && LISTS.has(this.#name)) {
      this.#listDepth = 2
      this.#isObject = false
      return false
    }
    if (depth !== this.#listDepth || code !== OPEN_BRACE) return false
    this.#item = []
    this.#characters = 0
    return true
  }

  /** True where an item ends. */
  #close(): boolean {
    this.#depth -= 1
    // After the end of the list there are no items.
    if (!this.#item && this.#depth < this.#listDepth) this.#listDepth = Number.POSITIVE_INFINITY
    return this.#item !== undefined && this.#depth === this.#listDepth
  }

  #keep(text: string): void {
    this.#characters += text.length
    if (this.#characters > this.#mostCharacters) this.#item = []
    else this.#item?.push(text)
  }

  #flush(): void {
    const text = this.#item?.join('') ?? ''
    this.#item = undefined
    if (this.#characters > this.#mostCharacters) {
      this.dropped += 1
      return
    }
    const key = this.#isObject ? nameOf(this.#name) : undefined
    this.#take(key === undefined ? { text } : { key, text })
  }
}

/** Undefined for a name that is too long. */
function nameOf(quoted: string): string | undefined {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return undefined
  }
}
