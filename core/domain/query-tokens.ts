import { parseDuration } from './duration.ts'
import { wordIn } from './spelling/words.ts'

/** One word, sign, number or quoted text of a condition or a query. */
export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'sign' | 'end'
  /** Content of a quoted text, digits of a number. */
  readonly text: string
  /** Letters or signs right after a number. */
  readonly unit?: string
  /** Column of its first character, from 1. */
  readonly column: number
}

/** Thrown for a text that cannot be parsed; the parsers catch it. */
export class QueryMistake extends Error {
  readonly column: number

  constructor(column: number, message: string) {
    super(message)
    this.column = column
  }
}

/** Reads the tokens of a text one after the other. */
export class TokenReader {
  readonly #tokens: readonly Token[]
  #at = 0

  /** Throws QueryMistake for a text that is longer than `most` characters, and for an invalid token. */
  constructor(text: string, what: string, most: number) {
    if (text.length > most)
      throw new QueryMistake(most + 1, `${what} has at most ${most} characters, not ${text.length}`)
    this.#tokens = tokensOf(text)
  }

  get next(): Token {
    return this.#tokens[this.#at] as Token
  }

  mistake(message: string, token: Token = this.next): QueryMistake {
    return new QueryMistake(token.column, message)
  }

  /** Takes the next token, which is not the end. */
  skip(): Token {
    const token = this.next
    this.#at += 1
    return token
  }

  /** Takes the next token if its text is one of these, a name in any letter case. */
  take(...texts: readonly string[]): Token | undefined {
    const { kind, text } = this.next
    if (kind === 'string' || kind === 'end') return undefined
    return texts.includes(kind === 'name' ? text.toLowerCase() : text) ? this.skip() : undefined
  }

  require(text: string, where: string): void {
    if (!this.take(text)) throw this.mistake(`"${text}" is missing ${where}`)
  }

  /** Takes one of these names. */
  oneOf<Name extends string>(known: readonly Name[], missing: string): Name {
    const { kind, text } = this.next
    const name = kind === 'name' ? wordIn(known, text) : undefined
    if (name === undefined) throw this.mistake(missing)
    this.skip()
    return name
  }

  /** Takes the text in quotes that belongs to a field. */
  quoted(field: string): string {
    if (this.next.kind !== 'string') throw this.mistake(`the value of "${field}" stands in quotes`)
    return this.skip().text
  }

  /** Milliseconds of a duration such as `1h30m` at the next token, which is not consumed; undefined if that is not a duration. */
  get durationMs(): number | undefined {
    const { kind, text, unit } = this.next
    return kind === 'number' && unit !== undefined ? parseDuration(text + unit) : undefined
  }
}

const NAME = /[A-Za-z_][\w.]*/y
/** A number with the letters that follow: a unit, or the rest of a duration such as `1h30m`. */
const NUMBER = /(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(%|\/[a-z]+|[A-Za-z][A-Za-z0-9]*)?/y
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'/y
const SIGN = /\|\||&&|[<>=!]=|[<>=!(){}[\],]/y
const SPACE = /\s+/y

/** The tokens of a text, the last one of kind `end`. Throws QueryMistake for an invalid token. */
function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    return pattern.exec(text) ?? undefined
  }
  for (;;) {
    at += match(SPACE)?.[0].length ?? 0
    const column = at + 1
    if (at >= text.length) {
      tokens.push({ kind: 'end', text: 'the end', column })
      return tokens
    }
    const found = match(NUMBER) ?? match(NAME) ?? match(QUOTED) ?? match(SIGN)
    if (!found) throw new QueryMistake(column, mistakeAt(text[at] ?? ''))
    tokens.push(tokenOf(found, column))
    at += found[0].length
  }
}

function tokenOf(found: RegExpExecArray, column: number): Token {
  const [whole, digits, unit] = found
  const start = whole[0] ?? ''
  if (digits !== undefined) return { kind: 'number', text: digits, column, ...(unit === undefined ? {} : { unit }) }
  if (start === "'") return { kind: 'string', text: whole.slice(1, -1), column }
  if (start === '"') return { kind: 'string', text: unquoted(whole, column), column }
  return { kind: /\w/.test(start) ? 'name' : 'sign', text: whole, column }
}

function unquoted(quoted: string, column: number): string {
  try {
    return JSON.parse(quoted) as string
  } catch {
    throw new QueryMistake(column, 'a text in double quotes follows the rules of JSON')
  }
}

function mistakeAt(character: string): string {
  const isQuote = character === '"' || character === "'"
  return isQuote ? 'the closing quote is missing' : `${JSON.stringify(character)} does not belong here`
}
