import { isUtf8 } from 'node:buffer'

/** A run that may be text in base 64, in either alphabet, on one line or several. Line breaks may be escaped. */
const RUN = /[A-Za-z0-9+/_-]{24,}(?:(?:\r?\n|(?:\\r)?\\n)[ \t]{0,16}[A-Za-z0-9+/_-]+)*={0,2}/g
const BREAK = /(?:\r?\n|(?:\\r)?\\n)[ \t]{0,16}/g
/** Bytes at the beginning that show whether it is text. */
const SAMPLE = 96
const MOST_DEPTH = 2
const SHORTEST = 24

/** A part of a text that is another text in base 64. */
export interface Encoded {
  readonly start: number
  readonly end: number
  readonly text: string
  /** Encodes a text in the alphabet, the lines and the character set of this part. */
  readonly encode: (text: string) => string
}

/** The text of bytes and their character set. */
interface Read {
  readonly text: string
  readonly charset: 'utf8' | 'utf16le'
}

/** The parts that are text in base 64. `depth`: of this text, since encoded texts may hold encoded ones. */
export function encodedParts(text: string, depth: number): readonly Encoded[] {
  if (text.length < SHORTEST || depth >= MOST_DEPTH) return []
  const found: Encoded[] = []
  RUN.lastIndex = 0
  for (let match = RUN.exec(text); match; match = RUN.exec(text)) found.push(...partsOf(match[0], match.index))
  return found
}

/** Lines of equal length are one part, other lines one each. */
function partsOf(written: string, start: number): readonly Encoded[] {
  const breaks = [...written.matchAll(BREAK)]
  if (breaks.length === 0) return partOf(written, written, start, encoded => encoded)
  const [separator = '\n'] = breaks[0] ?? []
  const lines = written.split(BREAK)
  const width = lines[0]?.length ?? 0
  const isWrapped = lines.every((line, at) => (at < lines.length - 1 ? line.length === width : line.length <= width))
  const wrap = (encoded: string) =>
    Array.from({ length: Math.ceil(encoded.length / width) }, (_, at) =>
      encoded.slice(at * width, (at + 1) * width),
    ).join(separator)
  const whole = isWrapped ? partOf(written, lines.join(''), start, wrap) : []
  if (whole.length > 0) return whole
  let at = start
  return lines.flatMap((line, index) => {
    const from = at
    at += line.length + (breaks[index]?.[0].length ?? 0)
    return line.length < SHORTEST ? [] : partOf(line, line, from, encoded => encoded)
  })
}

function partOf(
  written: string,
  joined: string,
  start: number,
  wrap: (encoded: string) => string,
): readonly [Encoded] | readonly [] {
  const read = textOf(joined)
  if (!read) return []
  const form = /[-_]/.test(joined) ? 'base64url' : 'base64'
  const encode = (changed: string) => wrap(Buffer.from(changed, read.charset).toString(form))
  return [{ start, end: start + written.length, text: read.text, encode }]
}

/** The text of a run; undefined for other data, as most words and keys are after decoding. */
function textOf(joined: string): Read | undefined {
  if (!charsetOf(Buffer.from(joined.slice(0, (SAMPLE * 4) / 3), 'base64'), true)) return undefined
  const whole = Buffer.from(joined, 'base64')
  const charset = charsetOf(whole, false)
  return charset && { text: whole.toString(charset), charset }
}

/** Undefined for bytes that are no text. `isCut`: the last character may be incomplete. */
function charsetOf(bytes: Buffer, isCut: boolean): Read['charset'] | undefined {
  if (isReadable(bytes)) return 'utf8'
  if (bytes.length >= 16 && isWide(bytes)) return 'utf16le'
  const isText = [0, 1, 2, 3].some(left => (isCut || left === 0) && isUtf8(bytes.subarray(0, bytes.length - left)))
  return isText && countControls(bytes) * 20 <= bytes.length ? 'utf8' : undefined
}

/** True if at least half of the bytes are ASCII and at most 5 % are neither ASCII nor UTF-8. */
function isReadable(bytes: Uint8Array): boolean {
  let unreadable = 0
  const most = bytes.length / 20
  for (const byte of bytes) {
    const isText = (byte >= 32 && byte < 127) || byte === 9 || byte === 10 || byte === 13
    if (!isText && !(byte >= 0xc2 && byte <= 0xf4) && !(byte >= 0x80 && byte <= 0xbf)) unreadable += 1
  }
  return unreadable <= most && countAscii(bytes) * 2 >= bytes.length
}

/** True for ASCII in UTF-16, as PowerShell has it: nearly every second byte is zero, and no other is. */
function isWide(bytes: Uint8Array): boolean {
  let zeros = 0
  for (const [at, byte] of bytes.entries()) {
    if (byte !== 0) continue
    if (at % 2 === 0) return false
    zeros += 1
  }
  return zeros * 20 >= bytes.length * 9
}

function countAscii(bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (byte < 128) count += 1
  return count
}

function countControls(bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13) count += 1
  return count
}
