/** How far around a place it is looked what belongs together there; longer pile-ups of marks are cut inside. */
const NEAR = 64
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * Where a piece of a text ends that begins at `start` and has at most so many bytes of UTF-8: between characters as a reader
 * sees them, so that a flag, a family or a letter with its accents stays whole where it fits at all.
 */
export function pieceEnd(text: string, start: number, maxBytes: number): number {
  // A character has at least one byte, so that no more than these need to be looked at.
  let end = Math.min(text.length, start + maxBytes)
  const bytes = Buffer.from(text.slice(start, end))
  if (bytes.length > maxBytes) {
    end = start + new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true }).length
  }
  if (end < text.length && end > start && isHighSurrogate(text.charCodeAt(end - 1)) && isLow(text.charCodeAt(end)))
    end -= 1
  return end < text.length ? betweenCharacters(text, start, end) : end
}

/** The longest beginning of a text within so many bytes of UTF-8. */
export function cutBytes(text: string, maxBytes: number): string {
  return text.slice(0, pieceEnd(text, 0, maxBytes))
}

/** Whether the character before is the first half of a pair. */
export function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

/** The last place between two characters that is not behind `end`; `end` itself where there is none but `start`. */
function betweenCharacters(text: string, start: number, end: number): number {
  const from = Math.max(start, end - NEAR)
  let found = from
  for (const { index } of CHARACTERS.segment(text.slice(from, end + NEAR))) {
    if (from + index > end) break
    found = from + index
  }
  return found > from ? found : end
}
