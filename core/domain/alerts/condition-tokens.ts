/** One word, sign, number or quoted text of a condition. */
export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'sign' | 'end'
  /** Of a quoted text its content, of a number its digits. */
  readonly text: string
  /** Letters or signs right after a number. */
  readonly unit?: string
  /** Of its first character, from 1. */
  readonly column: number
}

/** A condition that cannot be read; caught by `parseCondition`. */
export class ConditionMistake extends Error {
  readonly column: number

  constructor(column: number, message: string) {
    super(message)
    this.column = column
  }
}

const NAME = /[A-Za-z_][\w.]*/y
/** With the letters that follow: a unit, or the rest of a duration such as `1h30m`. */
const NUMBER = /(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(%|\/[a-z]+|[A-Za-z][A-Za-z0-9]*)?/y
const QUOTED = /"(?:[^"\\]|\\.)*"|'[^']*'/y
const SIGN = /\|\||&&|[<>=!]=|[<>=!(){}[\],]/y
const SPACE = /\s+/y

/** The tokens of a text, the last of kind `end`. Throws ConditionMistake for what is no token. */
export function tokensOf(text: string): readonly Token[] {
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
    if (!found) throw new ConditionMistake(column, mistakeAt(text[at] ?? ''))
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
    throw new ConditionMistake(column, 'a text in double quotes follows the rules of JSON')
  }
}

function mistakeAt(character: string): string {
  const isQuote = character === '"' || character === "'"
  return isQuote ? 'the closing quote is missing' : `${JSON.stringify(character)} does not belong here`
}
