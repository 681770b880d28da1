const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The index of the quote that ends the JSON string which begins at `open`, or the text's length where none does. */
export function stringEnd(text: string, open: number): number {
  let quote = text.indexOf('"', open + 1)
  if (quote < 0) return text.length
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote
  // From escape to escape: texts that hold little else are read without a search for each of them.
  let at = text.indexOf('\\', open + 1)
  for (;;) {
    at += 2
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) continue
    if (code === QUOTE) return at
    quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    const next = text.indexOf('\\', at)
    if (next < 0 || next > quote) return quote
    at = next
  }
}

/**
 * Whether a JSON text nests objects and arrays deeper than this many levels. JSON.parse takes any depth, whereas
 * JSON.stringify, structuredClone and every walker overflow their stack. One pass, without recursion; says something of
 * valid JSON alone.
 */
export function isDeeperThan(text: string, levels: number): boolean {
  // What was opened must be closed again.
  if (text.length < 2 * levels) return false
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = stringEnd(text, at)
    // Brackets and braces differ in this one bit.
    else if ((code | 0x20) === 0x7b) {
      depth += 1
      if (depth > levels) return true
    } else if ((code | 0x20) === 0x7d) depth -= 1
  }
  return false
}
