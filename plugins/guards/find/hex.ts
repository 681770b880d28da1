import { isUtf8 } from 'node:buffer'
import { type Charset, charsetOf } from './charset.ts'
import type { Encoded } from './types.ts'

const BREAK = String.raw`(?:\r?\n|(?:\\r)?\\n)`
/** One to four bytes, such as `67`, `0x67` and `6768`. */
const GROUP = '(?:0x)?(?:[0-9a-fA-F]{2}){1,4}'
const NEXT = String.raw`(?:[ \t:,;_-]|${BREAK}){1,8}${GROUP}(?![0-9a-zA-Z])`
/** The beginning of digits without separators, or of three groups with them. What follows is read group by group, however long it is. */
const RUN = new RegExp(`(?<plain>[0-9a-fA-F]{24,})|(?<![0-9a-zA-Z])${GROUP}(?:${NEXT}){2}`, 'g')
const NEXT_GROUP = new RegExp(NEXT, 'y')
const NEXT_LINE = new RegExp(String.raw`${BREAK}[ \t]{0,16}[0-9a-fA-F]{2,}`, 'y')
/** Characters within other bytes that could be a secret. */
const READABLE = /[\t\n\r\x20-\x7e]{12,}/g
const FEWEST_BYTES = 12

/** The bytes of a run. `places`: of the two digits of each byte. */
interface Bytes {
  readonly bytes: Buffer
  readonly places: (byte: number) => { readonly start: number; readonly end: number }
}

/** The parts of a text that are text in hexadecimal digits, in lines and in groups too. */
export function hexParts(text: string): readonly Encoded[] {
  const found: Encoded[] = []
  RUN.lastIndex = 0
  for (let match = RUN.exec(text); match; match = RUN.exec(text)) {
    const next = match.groups?.plain === undefined ? NEXT_GROUP : NEXT_LINE
    for (let end = RUN.lastIndex; ; RUN.lastIndex = end) {
      next.lastIndex = end
      if (!next.test(text)) break
      end = next.lastIndex
    }
    found.push(...partsOf(text.slice(match.index, RUN.lastIndex), match.index))
  }
  return found
}

/** A run that is text is one part; of others each readable piece is one, whichever digit it begins at. */
function partsOf(run: string, start: number): readonly Encoded[] {
  const all = bytesOf(run)
  const charset = charsetOf(all.bytes, false)
  if (charset && all.bytes.length >= FEWEST_BYTES && (charset === 'utf16le' || isUtf8(all.bytes)))
    return [partOf(run, start, all, 0, all.bytes.length, charset)]
  const shifted = /[^0-9a-fA-F]/.test(run) ? [] : [plainBytes(run, 1)]
  return [all, ...shifted].flatMap(bytes =>
    [...bytes.bytes.toString('latin1').matchAll(READABLE)].map(({ 0: piece, index }) =>
      partOf(run, start, bytes, index, index + piece.length, 'utf8'),
    ),
  )
}

function partOf(
  run: string,
  start: number,
  { bytes, places }: Bytes,
  from: number,
  to: number,
  charset: Charset,
): Encoded {
  const [first, last] = [places(from).start, places(to - 1).end]
  const isUpper = /[A-F]/.test(run) && !/[a-f]/.test(run)
  const encode = (changed: string): string => {
    const digits = Buffer.from(changed, charset).toString('hex')
    const cased = isUpper ? digits.toUpperCase() : digits
    if (last - first === (to - from) * 2) return cased
    const separators = Array.from({ length: to - from - 1 }, (_, at) =>
      run.slice(places(from + at).end, places(from + at + 1).start),
    )
    // When the new text is longer than the old one, the old separators are used again from the first one on.
    return cased.replace(/..(?=.)/g, (byte, at: number) => byte + (separators[(at / 2) % separators.length] ?? ''))
  }
  return { start: start + first, end: start + last, text: bytes.subarray(from, to).toString(charset), encode }
}

function bytesOf(run: string): Bytes {
  if (!/[^0-9a-fA-F]/.test(run)) return plainBytes(run, 0)
  const bytes = Buffer.alloc(run.length >> 1)
  const places = new Uint32Array(run.length)
  let count = 0
  for (let at = 0; at < run.length; at += 1) {
    const digit = digitOf(run.charCodeAt(at))
    if (digit < 0 || (digit === 0 && run[at + 1] === 'x')) continue
    const byte = count >> 1
    bytes[byte] = ((bytes[byte] ?? 0) << 4) | digit
    places[count] = at
    count += 1
  }
  return {
    bytes: bytes.subarray(0, count >> 1),
    places: byte => ({ start: places[byte * 2] ?? 0, end: (places[byte * 2 + 1] ?? 0) + 1 }),
  }
}

/** The value of a hexadecimal digit; -1 for other characters. */
function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

/** `skipped`: digits in front of the first byte. */
function plainBytes(run: string, skipped: number): Bytes {
  return {
    bytes: Buffer.from(run.slice(skipped), 'hex'),
    places: byte => ({ start: skipped + byte * 2, end: skipped + byte * 2 + 2 }),
  }
}
