import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const STEP_MS = 30_000
const DIGITS = 6
const SECRET_BYTES = 20

/** A new secret, in base 32 as apps want it. */
export function newSecret(): string {
  return base32(randomBytes(SECRET_BYTES))
}

/** Base 32 of RFC 4648, without padding. */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map(five => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

/** The code of a step (RFC 4226, section 5.3, over RFC 6238's counter). */
export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const at = (digest.at(-1) as number) & 15
  const number = (digest.readUInt32BE(at) & 0x7f_ff_ff_ff) % 10 ** DIGITS
  return String(number).padStart(DIGITS, '0')
}

/** The step of a moment, in milliseconds since 1970. */
export function stepAt(ms: number): number {
  return Math.floor(ms / STEP_MS)
}

/**
 * The step of a code that is valid at a moment, one step early or late; undefined for another code. All three are compared, each
 * in constant time.
 */
export function stepOf(secret: string, code: string, ms: number): number | undefined {
  const now = stepAt(ms)
  const given = Buffer.from(code)
  let found: number | undefined
  for (const step of [now - 1, now, now + 1]) {
    const expected = Buffer.from(codeAt(secret, step))
    if (given.length === expected.length && timingSafeEqual(given, expected)) found = step
  }
  return found
}

/** The address that apps read from a link or a QR code. */
export function keyUri(secret: string, issuer: string, account: string): string {
  const query = new URLSearchParams({ secret, issuer, algorithm: 'SHA1', digits: String(DIGITS), period: '30' })
  return `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(account)}?${query.toString().replaceAll('+', '%20')}`
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map(character => ALPHABET.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(eight => Number.parseInt(eight, 2)))
}
