/** A run that may be text in base 64, in either alphabet. */
const RUN = /[A-Za-z0-9+/_-]{24,}={0,2}/g
/** Bytes at the beginning that show whether it is text. */
const SAMPLE = 96
const MOST_DEPTH = 2

/** A part of a text that is another text in base 64. */
export interface Encoded {
  readonly start: number
  readonly end: number
  readonly text: string
  /** Encodes a text in the alphabet of this part. */
  readonly encode: (text: string) => string
}

/** The parts that are text in base 64. `depth`: of this text, since encoded texts may hold encoded ones. */
export function encodedParts(text: string, depth: number): readonly Encoded[] {
  if (text.length < 24 || depth >= MOST_DEPTH) return []
  const found: Encoded[] = []
  RUN.lastIndex = 0
  for (let match = RUN.exec(text); match; match = RUN.exec(text)) {
    const written = match[0]
    const decoded = textOf(written)
    if (decoded === undefined) continue
    const isUrl = /[-_]/.test(written)
    const encode = (changed: string) => Buffer.from(changed).toString(isUrl ? 'base64url' : 'base64')
    found.push({ start: match.index, end: match.index + written.length, text: decoded, encode })
  }
  return found
}

/** The text of a run; undefined for other data, as most words and keys are after decoding. */
function textOf(written: string): string | undefined {
  if (!isReadable(Buffer.from(written.slice(0, (SAMPLE * 4) / 3), 'base64'))) return undefined
  const whole = Buffer.from(written, 'base64')
  return isReadable(whole) ? whole.toString('utf8') : undefined
}

/** True for bytes of which at most one in twenty cannot be read as ASCII or UTF-8. */
function isReadable(bytes: Uint8Array): boolean {
  let unreadable = 0
  const most = bytes.length / 20
  for (const byte of bytes) {
    const isText = (byte >= 32 && byte < 127) || byte === 9 || byte === 10 || byte === 13
    if (!isText && !(byte >= 0xc2 && byte <= 0xf4) && !(byte >= 0x80 && byte <= 0xbf)) unreadable += 1
  }
  return unreadable <= most && countAscii(bytes) * 2 >= bytes.length
}

function countAscii(bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (byte < 128) count += 1
  return count
}
