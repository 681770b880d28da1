/** Where a piece of a text ends that begins at `start` and has at most so many bytes of UTF-8, cut between characters. */
export function pieceEnd(text: string, start: number, maxBytes: number): number {
  // A character has at least one byte, so that no more than these need to be looked at.
  let end = Math.min(text.length, start + maxBytes)
  const bytes = Buffer.from(text.slice(start, end))
  if (bytes.length > maxBytes) {
    end = start + new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true }).length
  }
  return end > start && isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end))
    ? end - 1
    : end
}

/** The longest beginning of a text within so many bytes of UTF-8. */
export function cutBytes(text: string, maxBytes: number): string {
  return text.slice(0, pieceEnd(text, 0, maxBytes))
}

/** Whether the character before is the first half of a pair. */
export function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
