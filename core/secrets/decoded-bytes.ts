/** A way of escaping bytes: the byte that begins an escape, and how one is read. */
export interface Escaping {
  readonly marker: number
  /**
   * Reads the escape at `at` and writes its bytes to `out` at `to`. Returns 8 times the number of bytes read plus the number of
   * bytes written, as one number since there may be millions; 0: there is no escape.
   */
  read(bytes: Uint8Array, at: number, out: Uint8Array, to: number): number
}

/** `%41`, and `%u0041` as the old `escape` wrote it. */
export const PERCENT: Escaping = {
  marker: 0x25,
  read(bytes, at, out, to) {
    if (bytes[at + 1] === 0x75) {
      const unit = hexNumber(bytes, at + 2, 4)
      return unit < 0 ? 0 : 6 * 8 + writeUtf8(out, to, unit)
    }
    const value = hexNumber(bytes, at + 1, 2)
    if (value < 0) return 0
    out[to] = value
    return 3 * 8 + 1
  },
}

const SINGLE: ReadonlyMap<number, number> = new Map(
  [...'"\\/bfnrt'].map((letter, index) => [letter.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(index)]),
)

/** The escapes inside a string of JSON. */
export const JSON_ESCAPES: Escaping = {
  marker: 0x5c,
  read(bytes, at, out, to) {
    const letter = bytes[at + 1]
    if (letter === 0x75) return readUnicodeEscape(bytes, at, out, to)
    const single = letter === undefined ? undefined : SINGLE.get(letter)
    if (single === undefined) return 0
    out[to] = single
    return 2 * 8 + 1
  },
}

/** The bytes with every escape decoded once; undefined if there is none. Never longer than `bytes`. */
export function decodeEscapes(bytes: Uint8Array, { marker, read }: Escaping): Uint8Array | undefined {
  let at = bytes.indexOf(marker)
  if (at < 0) return undefined
  const out = new Uint8Array(bytes.length)
  let from = 0
  let to = 0
  let count = 0
  while (at >= 0) {
    out.set(bytes.subarray(from, at), to)
    to += at - from
    const sizes = read(bytes, at, out, to)
    if (sizes > 0) {
      count += 1
      to += sizes & 7
      from = at + (sizes >> 3)
    } else {
      from = at
    }
    at = bytes.indexOf(marker, sizes > 0 ? from : from + 1)
  }
  if (count === 0) return undefined
  out.set(bytes.subarray(from), to)
  return out.subarray(0, to + bytes.length - from)
}

/**
 * Returns the offsets in `bytes` of offsets into the decoded bytes, which must not decrease. An offset inside the output of a
 * single escape is mapped to the start of that escape. A second pass instead of a table, which would take four times the memory
 * of the text.
 */
export function mapOffsets(bytes: Uint8Array, { marker, read }: Escaping, offsets: readonly number[]): number[] {
  const scratch = new Uint8Array(4)
  const mapped: number[] = []
  let from = 0
  let to = 0
  let at = bytes.indexOf(marker)
  const take = (end: number, width: number): void => {
    while (mapped.length < offsets.length && (offsets[mapped.length] ?? 0) < to + end - from + width) {
      mapped.push(Math.min(from + (offsets[mapped.length] ?? 0) - to, end))
    }
  }
  while (at >= 0 && mapped.length < offsets.length) {
    const sizes = read(bytes, at, scratch, 0)
    if (sizes > 0) {
      take(at, sizes & 7)
      to += at - from + (sizes & 7)
      from = at + (sizes >> 3)
    }
    at = bytes.indexOf(marker, sizes > 0 ? from : at + 1)
  }
  take(bytes.length, 1)
  return mapped
}

function readUnicodeEscape(bytes: Uint8Array, at: number, out: Uint8Array, to: number): number {
  const unit = hexNumber(bytes, at + 2, 4)
  if (unit < 0) return 0
  const isHigh = unit >= 0xd800 && unit <= 0xdbff
  const low = isHigh && bytes[at + 6] === 0x5c && bytes[at + 7] === 0x75 ? hexNumber(bytes, at + 8, 4) : -1
  if (low < 0xdc00 || low > 0xdfff) return 6 * 8 + writeUtf8(out, to, unit)
  return 12 * 8 + writeUtf8(out, to, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
}

/** -1 when these are not all hexadecimal digits. */
function hexNumber(bytes: Uint8Array, from: number, digits: number): number {
  let value = 0
  for (let at = from; at < from + digits; at += 1) {
    const digit = hexDigit(bytes[at] ?? 0)
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function writeUtf8(out: Uint8Array, to: number, point: number): number {
  if (point < 0x80) {
    out[to] = point
    return 1
  }
  const count = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  for (let index = count - 1, rest = point; index >= 0; index -= 1, rest >>= 6) {
    out[to + index] = index > 0 ? 0x80 | (rest & 0x3f) : ((0xf00 >> count) & 0xff) | rest
  }
  return count
}
