import { isUtf8 } from 'node:buffer'

/** The character sets of texts that are found within other encodings. */
export type Charset = 'utf8' | 'utf16le'

/** Undefined for bytes that are no text, as most words, keys and hashes are after decoding. `isCut`: the last character may be incomplete. */
export function charsetOf(bytes: Buffer, isCut: boolean): Charset | undefined {
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
