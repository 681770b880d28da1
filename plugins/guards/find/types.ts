/** A place in a text. `kind`: of what was found, such as `github_token`. */
export interface Found {
  readonly kind: string
  readonly start: number
  readonly end: number
  /** The host of an address, as a sample shows it. */
  readonly host?: string
}

/** A part of a text that encodes another text. */
export interface Encoded {
  readonly start: number
  readonly end: number
  readonly text: string
  /** Encodes a text in the digits, the lines and the character set of this part. */
  readonly encode: (text: string) => string
}

/**
 * Finds places in a text, in time that grows with the length of the text alone. `name`: of the member whose value the text is.
 */
export type Finder = (text: string, name: string | undefined) => Found[]

/** The places that a regular expression finds, where `accept` agrees. It must be global, and linear: no repeat within a repeat. */
export function placesOf(
  text: string,
  kind: string,
  pattern: RegExp,
  accept: (match: RegExpExecArray) => boolean = () => true,
): Found[] {
  const found: Found[] = []
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    // The group `secret` is the value; the text around it says what it is.
    const whole = match[0]
    const inner = match.groups?.secret
    const start = inner === undefined ? match.index : match.index + whole.lastIndexOf(inner)
    if (accept(match)) found.push({ kind, start, end: start + (inner ?? whole).length })
    if (whole === '') pattern.lastIndex += 1
  }
  return found
}
