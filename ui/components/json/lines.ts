/** Kind of a piece of JSON text: a key, a string, a number or word, a bracket or comma. */
export type TokenKind = 'key' | 'string' | 'number' | 'mark'

/** A piece of JSON text in one colour. */
export interface JsonToken {
  readonly kind: TokenKind
  readonly text: string
}

/** A line of JSON with its depth. */
export interface JsonLine {
  readonly depth: number
  readonly tokens: readonly JsonToken[]
}

/** JSON as lines, up to a limit. */
export interface JsonLines {
  readonly lines: readonly JsonLine[]
  /** True when the text continues after the last line. */
  readonly cut: boolean
}

const TOKEN = /\s*("(?:[^"\\]|\\[\s\S])*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:])/y
/** Longest list of simple values, in characters, that stays on one line. */
const SHORT_LIST = 60
const VALUE = String.raw`(?:"(?:[^"\\]|\\[\s\S])*"|-?\d[\d.eE+-]*|true|false|null)`
const SHORT = new RegExp(String.raw`^\s*\[\s*(?:${VALUE}(?:\s*,\s*${VALUE})*)?\s*\]`)
/** Longer strings are cut in coloured lines, in characters. */
const LONGEST = 5000
/** Number of pieces in one line above which reading stops. */
const LONGEST_LINE = 200

/**
 * Returns the lines of a JSON text as it is written: no number is parsed, so that none changes. Reads only up to the limit and
 * never recurses, whatever the depth. Undefined: the text is not JSON.
 */
export function jsonLines(text: string, limit: number): JsonLines | undefined {
  const writer = new Writer(limit)
  let at = 0
  while (!writer.full) {
    const list = shortList(text, at)
    if (list) {
      writer.list(list)
      at += list.length
      continue
    }
    TOKEN.lastIndex = at
    const found = TOKEN.exec(text)
    if (!found?.[1]) break
    at = TOKEN.lastIndex
    const isKey = found[1].startsWith('"') && /^\s*:/.test(text.slice(at, at + 50))
    writer.token(found[1], isKey, /^\s*[}\]]/.test(text.slice(at, at + 50)))
  }
  if (!writer.full && text.slice(at).trim() !== '') return undefined
  return { lines: writer.done(), cut: writer.full && text.slice(at).trim() !== '' }
}

/** Only the beginning is matched, since the pattern could run through a large text. */
function shortList(text: string, at: number): string | undefined {
  return SHORT.exec(text.slice(at, at + SHORT_LIST))?.[0]
}

class Writer {
  readonly #lines: JsonLine[] = []
  readonly #limit: number
  #tokens: JsonToken[] = []
  #depth = 0
  #lineDepth = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get full(): boolean {
    return this.#lines.length >= this.#limit || this.#tokens.length > LONGEST_LINE
  }

  list(text: string): void {
    for (const [, part] of text.matchAll(/("(?:[^"\\]|\\[\s\S])*"|[^\s[\],]+|[[\],])/g)) {
      if (part === undefined) continue
      this.#push(part === ',' ? ', ' : part, kindOf(part))
    }
  }

  token(text: string, isKey: boolean, closesNext: boolean): void {
    if (text === '{' || text === '[') this.#open(text, closesNext)
    else if (text === '}' || text === ']') this.#close(text)
    else if (text === ',') {
      this.#push(text, 'mark')
      this.#end()
    } else if (text === ':') this.#push(': ', 'mark')
    else this.#push(text, isKey ? 'key' : kindOf(text))
  }

  #open(text: string, closesNext: boolean): void {
    this.#push(text, 'mark')
    this.#depth += 1
    if (!closesNext) this.#end()
  }

  #close(text: string): void {
    this.#depth -= 1
    const isEmpty = /^[{[]$/.test(this.#tokens.at(-1)?.text ?? '')
    if (!isEmpty && this.#tokens.length > 0) this.#end()
    if (!isEmpty) this.#lineDepth = this.#depth
    this.#push(text, 'mark')
  }

  done(): readonly JsonLine[] {
    if (this.#tokens.length > 0) this.#end()
    return this.#lines
  }

  #push(text: string, kind: TokenKind): void {
    const whole = text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… "`
    this.#tokens.push({ kind, text: whole })
  }

  #end(): void {
    this.#lines.push({ depth: this.#lineDepth, tokens: this.#tokens })
    this.#tokens = []
    this.#lineDepth = this.#depth
  }
}

function kindOf(text: string): TokenKind {
  if (text.startsWith('"')) return 'string'
  return /^[[\],{}:]/.test(text) ? 'mark' : 'number'
}

/** A syntax error in a JSON text; line and column count from 1 and are absent if the browser does not report them. */
export interface JsonMistake {
  readonly message: string
  readonly line?: number
  readonly column?: number
}

/** The first syntax error of a text; undefined: it is JSON. */
export function jsonMistake(text: string): JsonMistake | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const place = /line (\d+) column (\d+)/.exec(message)
    const offset = /position (\d+)/.exec(message)
    const short = message.replace(/^JSON\.parse: /, '').replace(/,? ?(in JSON )?at (position|line) .*$/s, '')
    if (place) return { message: short, line: Number(place[1]), column: Number(place[2]) }
    if (!offset)
      return /end of/.test(message) ? { message: short, ...lineAndColumn(text, text.length) } : { message: short }
    return { message: short, ...lineAndColumn(text, Number(offset[1])) }
  }
}

function lineAndColumn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}
