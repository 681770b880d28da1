const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The index of the quote that ends the JSON string starting at `open`, or the text's length when it is not closed. */
export function stringEnd(text: string, open: number): number {
  let quote = text.indexOf('"', open + 1)
  if (quote < 0) return text.length
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote
  // Jumps from escape to escape: texts of mostly escapes are read without a search for each.
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
 * True when a JSON text nests objects and arrays deeper than `levels`. JSON.parse accepts any depth, but JSON.stringify,
 * structuredClone and all recursive walkers overflow their stack. One pass, without recursion; meaningful for valid JSON only.
 */
export function isDeeperThan(text: string, levels: number): boolean {
  // Every opened bracket needs a closing one.
  if (text.length < 2 * levels) return false
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = stringEnd(text, at)
    // `[` and `{`, and `]` and `}`, differ in this bit only.
    else if ((code | 0x20) === 0x7b) {
      depth += 1
      if (depth > levels) return true
    } else if ((code | 0x20) === 0x7d) depth -= 1
  }
  return false
}
