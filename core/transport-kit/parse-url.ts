/** Longest address that is parsed, in UTF-16 code units. */
const MOST_UNITS = 8_192

/**
 * The URL of a foreign text; null if it is invalid, or longer than 8,192 characters. The runtime normalizes hosts, which takes
 * time that grows with the square of the number of combining marks.
 */
export function parseUrl(text: string): URL | null {
  return text.length > MOST_UNITS ? null : URL.parse(text)
}
