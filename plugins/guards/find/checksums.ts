import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * True when the last six characters are the CRC-32 of those before them, in base 62 with zeros in front. GitHub describes this for
 * its tokens (github.blog, "Behind GitHub's new authentication token formats", 2021); npm adopted it.
 */
export function hasCrc(body: string): boolean {
  let rest = crc32(body.slice(0, -6))
  let digits = ''
  for (let at = 0; at < 6; at += 1) {
    digits = (BASE62[rest % 62] ?? '') + digits
    rest = Math.floor(rest / 62)
  }
  return digits === body.slice(-6)
}

/** The formula of Luhn (ISO/IEC 7812-1) over a text of digits. */
export function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let at = 0; at < digits.length; at += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48
    const doubled = digit * 2
    sum += at % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** ISO 7064 MOD 97-10 of an IBAN (ISO 13616) without spaces. */
export function passesIban(iban: string): boolean {
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest === 1
}

const WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
const CHECK = '10X98765432'

/** A number of the Chinese identity card (GB 11643-1999): 17 digits with a date of birth, and an ISO 7064 MOD 11-2 check character. */
export function passesChineseId(id: string): boolean {
  const sum = WEIGHTS.reduce((total, weight, at) => total + weight * (id.charCodeAt(at) - 48), 0)
  if (CHECK[sum % 11] !== id[17]?.toUpperCase()) return false
  const [year, month, day] = [Number(id.slice(6, 10)), Number(id.slice(10, 12)), Number(id.slice(12, 14))]
  const date = new Date(Date.UTC(year, month - 1, day))
  const isDate = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return isDate && year >= 1900 && year < 2100 && Number(id.slice(0, 2)) >= 11 && Number(id.slice(0, 2)) <= 82
}

/** Bits of Shannon's entropy per character; random base62 of 30 characters has above 4. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}
