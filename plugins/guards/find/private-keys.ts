import type { Found } from './types.ts'

const BEGIN = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g
const END = /-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g
/** The text of a key whose end is missing, as in a text that was cut. */
const BODY = /[A-Za-z0-9+/=\s:,-]*/y

/** Private keys in PEM (RFC 7468) and of OpenPGP (RFC 9580), also without their end. */
export function findPrivateKeys(text: string): Found[] {
  if (!text.includes('PRIVATE KEY')) return []
  const found: Found[] = []
  let hasEnd = true
  BEGIN.lastIndex = 0
  for (let match = BEGIN.exec(text); match; match = BEGIN.exec(text)) {
    const start = match.index
    const body = BEGIN.lastIndex
    END.lastIndex = body
    // A text without an end is searched for one once.
    const closing: RegExpExecArray | null = hasEnd ? END.exec(text) : null
    hasEnd = closing !== null
    const end = closing ? END.lastIndex : bodyEnd(text, body)
    // A line of documentation that names the marks alone is no key.
    if ((closing?.index ?? end) - body >= 40) found.push({ kind: 'private_key', start, end })
    BEGIN.lastIndex = end
  }
  return found
}

function bodyEnd(text: string, from: number): number {
  BODY.lastIndex = from
  BODY.exec(text)
  return Math.max(BODY.lastIndex, from)
}
