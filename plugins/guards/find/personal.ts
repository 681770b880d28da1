import { passesChineseId, passesIban, passesLuhn } from './checksums.ts'
import { type Finder, type Found, placesOf } from './types.ts'

const EMAIL =
  /(?<![\w.+-])[A-Za-z0-9](?:[\w.+-]{0,62}[\w+-])?@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![\w-]|\.[A-Za-z0-9])/g
/** E.164 with its plus sign: 8 to 15 digits, in groups or not. */
const INTERNATIONAL = /(?<![\w.+-])\+[1-9](?:[ .-]?\(?[0-9]\)?){7,14}(?![\w-])/g
const NORTH_AMERICAN = /(?<![\w.-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-.])[2-9][0-9]{2}[-.][0-9]{4}(?![\w-])/g
const CHINESE_MOBILE = /(?<![\w.+-])1[3-9][0-9](?:[ -]?[0-9]{4}){2}(?![\w-]|\.[0-9])/g
const CARD =
  /(?<![\w.-])[2-6][0-9]{3}(?:[ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}(?![\w-]|\.[0-9])|(?<![\w.-])3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}(?![\w-]|\.[0-9])/g
const IBAN = /(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/gi
const CHINESE_ID = /(?<![\w.-])[1-8][0-9]{16}[0-9Xx](?![\w-]|\.[0-9])/g

/** Lengths of IBANs by country, of the registry of ISO 13616 that SWIFT publishes. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 ' +
    'GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 ' +
    'MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 ' +
    'TN24 TR26 UA29 VA22 VG24 XK20'
  )
    .split(' ')
    .map(entry => [entry.slice(0, 2), Number(entry.slice(2))]),
)

const digitsOf = (text: string): string => text.replace(/[^0-9]/g, '')

const FINDERS: Readonly<Record<string, (text: string) => Found[]>> = {
  email: text =>
    // The user `git` of an SSH address is nobody.
    text.includes('@') ? placesOf(text, 'email', EMAIL, ([whole]) => !/^git@/.test(whole)) : [],
  phone: text => [
    ...(text.includes('+') ? placesOf(text, 'phone', INTERNATIONAL, ([whole]) => digitsOf(whole).length <= 15) : []),
    ...placesOf(text, 'phone', NORTH_AMERICAN),
    ...placesOf(text, 'phone', CHINESE_MOBILE),
  ],
  card: text => placesOf(text, 'card', CARD, ([whole]) => isCard(digitsOf(whole))),
  iban: text => ibans(text),
  chinese_id: text => placesOf(text, 'chinese_id', CHINESE_ID, ([whole]) => passesChineseId(whole)),
}

/** The kinds of personal data. */
export const PERSONAL_KINDS: readonly string[] = Object.keys(FINDERS)

/** Finds personal data of these kinds; undefined: of all. */
export function personalFinder(kinds: readonly string[] | undefined): Finder {
  const chosen = Object.entries(FINDERS).filter(([kind]) => kinds?.includes(kind) !== false)
  return text => (/[0-9@]/.test(text) ? chosen.flatMap(([, find]) => find(text)) : [])
}

/** Numbers of the networks that issue cards, with the lengths that each has (ISO/IEC 7812), and the check digit. */
function isCard(digits: string): boolean {
  const [first, two, four] = [digits[0], Number(digits.slice(0, 2)), Number(digits.slice(0, 4))]
  const { length } = digits
  const isKnown =
    (first === '4' && (length === 16 || length === 19)) ||
    (length === 16 && ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720) || two === 35)) ||
    (length >= 16 && length <= 19 && (four === 6011 || two === 62 || two === 64 || two === 65)) ||
    (length === 15 && (two === 34 || two === 37)) ||
    (length === 14 && (two === 36 || two === 38 || two === 30))
  return isKnown && passesLuhn(digits) && !/^(\d)\1+$/.test(digits)
}

/** A text that goes on behind an IBAN with groups of letters is cut at the length that its country has. */
function ibans(text: string): Found[] {
  return placesOf(text, 'iban', IBAN).flatMap(({ kind, start, end }) => {
    const length = IBAN_LENGTHS[text.slice(start, start + 2).toUpperCase()]
    if (length === undefined) return []
    let taken = 0
    let at = start
    for (; at < end && taken < length; at += 1) if (!/[ -]/.test(text[at] ?? '')) taken += 1
    const written = text.slice(start, at)
    // Hashes and ids have other groups, and are not cut within one.
    const isGrouped = !written.includes('-') || /^\w{4}(?:-\w{4})*(?:-\w{1,3})?$/.test(written)
    const isCut = /[A-Za-z0-9]/.test(text[at] ?? '')
    const isWhole = taken === length && !isCut && isGrouped && passesIban(written.replace(/[ -]/g, ''))
    return isWhole ? [{ kind, start, end: at }] : []
  })
}
