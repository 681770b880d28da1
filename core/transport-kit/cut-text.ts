/** Number of code units around a position in which grapheme boundaries are searched; longer clusters are cut inside. */
const NEAR = 64
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The end of a piece of text from `start` with at most `maxBytes` of UTF-8, at a grapheme boundary: a flag, a family
 * emoji or a letter with its accents stays whole if it fits at all.
 */
export function pieceEnd(text: string, start: number, maxBytes: number): number {
  // A character has at least one byte, so no more than `maxBytes` of them can fit.
  let end = Math.min(text.length, start + maxBytes)
  const bytes = Buffer.from(text.slice(start, end))
  if (bytes.length > maxBytes) {
    end = start + new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true }).length
  }
  if (end < text.length && end > start && isHighSurrogate(text.charCodeAt(end - 1)) && isLow(text.charCodeAt(end)))
    end -= 1
  return end < text.length ? betweenCharacters(text, start, end) : end
}

/** The longest prefix of a text within `maxBytes` of UTF-8. */
export function cutBytes(text: string, maxBytes: number): string {
  return text.slice(0, pieceEnd(text, 0, maxBytes))
}

/** True when this code unit is the first half of a surrogate pair. */
export function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

/** The last grapheme boundary at or before `end`; `end` itself if there is none after `start`. */
function betweenCharacters(text: string, start: number, end: number): number {
  const from = Math.max(start, end - NEAR)
  let found = from
  for (const { index } of CHARACTERS.segment(text.slice(from, end + NEAR))) {
    if (from + index > end) break
    found = from + index
  }
  return found > from ? found : end
}
