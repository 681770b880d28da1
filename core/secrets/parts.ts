import { Buffer } from 'node:buffer'

/** A segment of a URL's path of this length or more counts as a key, as in capability URLs; `mcp` and `v1` do not. */
const LONG_SEGMENT = 16

/**
 * A secret and those of its parts that may appear alone: the credential after a scheme (`Bearer abc`), user name and
 * password of Basic; of a URL its password, query values and long path segments; and long lines.
 */
export function secretParts(secret: string): string[] {
  // HTTP strips the spaces around a header's value.
  const parts = new Set([secret, secret.trim()])
  const [, scheme = '', behind] = /^([A-Za-z][A-Za-z0-9-]*) +(\S+)$/.exec(secret) ?? []
  if (behind !== undefined) parts.add(behind)
  if (behind !== undefined && scheme.toLowerCase() === 'basic') {
    const pair = Buffer.from(behind, 'base64').toString()
    const password = pair.slice(pair.indexOf(':') + 1)
    if (pair.includes(':') && !pair.includes('\ufffd')) parts.add(pair).add(password)
  }
  for (const part of urlParts(secret)) parts.add(part)
  for (const part of longLines(secret)) parts.add(part)
  return [...parts]
}

/** A PEM key is written to standard error line by line. Its first and last lines are not secret. */
function longLines(text: string): string[] {
  if (!/[\r\n]/.test(text)) return []
  const lines = text.split(/[\r\n]+/).map(line => line.trim())
  return lines.filter(line => line.length >= LONG_SEGMENT && !/^-----.*-----$/.test(line))
}

function urlParts(text: string): string[] {
  const url = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(text) ? URL.parse(text) : null
  if (!url) return []
  const segments = url.pathname.split('/').filter(segment => segment.length >= LONG_SEGMENT)
  const raw = [
    url.password,
    ...segments,
    ...url.search
      .slice(1)
      .split('&')
      .map(pair => pair.slice(pair.indexOf('=') + 1)),
  ]
  return raw.filter(part => part !== '').flatMap(part => [part, decoded(part)])
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A lone percent sign: the text is not percent-encoded.
    return text
  }
}

/** A binary key in its usual encodings. */
export function keyTexts(key: Uint8Array): string[] {
  const bytes = Buffer.from(key)
  return [bytes.toString('base64url'), bytes.toString('base64'), bytes.toString('hex')]
}
