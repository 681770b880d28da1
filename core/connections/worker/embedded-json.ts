import { stringEnd } from '../../domain/json/json-depth.ts'

/** The beginning of a JSON-RPC message, in whatever order its members are written. */
const BEGINNING = /\{\s*"(?:jsonrpc|id|result|error|method|params)"\s*:/g
/** Objects that are tried in one text. */
const MOST = 16
/** Objects without an end that are skipped: each costs a look at the whole text. */
const MOST_UNCLOSED = 2
const QUOTE = '"'.charCodeAt(0)
const CURLY_OPEN = '{'.charCodeAt(0)
const CURLY_CLOSE = '}'.charCodeAt(0)

/** A part of a text. */
interface Part {
  readonly text: string
  /** True for one that looks like a JSON-RPC message; false for the text around such ones. */
  readonly isObject: boolean
}

/** Splits a text into objects that look like JSON-RPC messages, and what is before, between and behind them. */
export function splitObjects(text: string): readonly Part[] {
  const parts: Part[] = []
  let from = 0
  let unclosed = 0
  BEGINNING.lastIndex = 0
  for (let tries = 0; tries < MOST; tries += 1) {
    const found = BEGINNING.exec(text)
    if (!found) break
    const to = objectEnd(text, found.index)
    if (to === undefined) {
      unclosed += 1
      if (unclosed > MOST_UNCLOSED) break
      BEGINNING.lastIndex = found.index + 1
      continue
    }
    if (found.index > from) parts.push({ text: text.slice(from, found.index), isObject: false })
    parts.push({ text: text.slice(found.index, to), isObject: true })
    from = to
    BEGINNING.lastIndex = to
  }
  if (from < text.length) parts.push({ text: text.slice(from), isObject: false })
  return parts
}

/** The end of the object that begins at `from`; undefined if it has none. */
function objectEnd(text: string, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) at = stringEnd(text, at)
    else if (char === CURLY_OPEN) depth += 1
    else if (char === CURLY_CLOSE && --depth === 0) return at + 1
  }
  return undefined
}
