import { stringEnd } from '../../domain/json/json-depth.ts'

/** One member of a JSON object as written in its text. */
export interface Member {
  readonly key: string
  /** Start of its key; `to` is the end of its value. */
  readonly from: number
  readonly to: number
  readonly valueFrom: number
}

const QUOTE = '"'.charCodeAt(0)
const COLON = ':'.charCodeAt(0)
const COMMA = ','.charCodeAt(0)
const SQUARE_OPEN = '['.charCodeAt(0)
const SQUARE_CLOSE = ']'.charCodeAt(0)
const CURLY_OPEN = '{'.charCodeAt(0)
const CURLY_CLOSE = '}'.charCodeAt(0)

/** The members of the outermost object, in order. `json` must be a valid JSON object. */
export function members(json: string): readonly Member[] {
  const found: Member[] = []
  let key: string | undefined
  let from = -1
  for (let at = json.indexOf('{') + 1; at < json.length; at += 1) {
    const char = json.charCodeAt(at)
    if (char === QUOTE) {
      from = at
      at = stringEnd(json, at)
      key = JSON.parse(json.slice(from, at + 1)) as string
    } else if (char === COLON && key !== undefined) {
      const to = valueEnd(json, at + 1)
      if (to < json.length) found.push({ key, from, to, valueFrom: at + 1 })
      key = undefined
      at = to - 1
    } else if (char === CURLY_CLOSE) return found
  }
  return found
}

/** Returns the end of the value at `from`: the comma behind it, or the end of its object or array; else the end of the text. */
export function valueEnd(json: string, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at += 1) {
    const char = json.charCodeAt(at)
    if (char === QUOTE) at = stringEnd(json, at)
    else if (char === SQUARE_OPEN || char === CURLY_OPEN) depth += 1
    else if (depth === 0 && endsValue(char)) return at
    else if (char === SQUARE_CLOSE || char === CURLY_CLOSE) depth -= 1
  }
  return json.length
}

function endsValue(char: number): boolean {
  return char === COMMA || char === SQUARE_CLOSE || char === CURLY_CLOSE
}
