/** The index of the quote that ends the JSON string which begins at `open`, or the text's length where none does. */
export function stringEnd(text: string, open: number): number {
  let end = text.indexOf('"', open + 1)
  while (end !== -1) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1
    if (backslashes % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return text.length
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
