import { stringEnd } from './json-depth.ts'

/** Counts of a JSON text, outside of its strings. */
export interface JsonShape {
  /** Nesting depth. */
  readonly depth: number
  readonly colons: number
  readonly commas: number
  /** Number of objects and arrays. */
  readonly containers: number
  /** Some number has a fraction or exponent, 16 characters or more, or is `-0`: parsing may change it. */
  readonly oddNumbers: boolean
}

/** True when a text of this shape certainly has more than `members` members and elements, not counting empty objects. */
export function mustHoldMore({ commas, containers }: JsonShape, members: number): boolean {
  return commas > members || commas + containers > 2 * members
}

/** Counts in one pass without recursion; meaningful for valid JSON only. */
export function scanShape(text: string): JsonShape {
  let depth = 0
  let deepest = 0
  let colons = 0
  let commas = 0
  let containers = 0
  let oddNumbers = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    switch (code) {
      case 0x22:
        at = stringEnd(text, at)
        break
      case 0x2c:
        commas += 1
        break
      case 0x3a:
        colons += 1
        break
      case 0x5b:
      case 0x7b:
        containers += 1
        depth += 1
        if (depth > deepest) deepest = depth
        break
      case 0x5d:
      case 0x7d:
        depth -= 1
        break
      default:
        if (code <= 0x39 && (code >= 0x30 || code === 0x2d)) {
          const end = numberEnd(text, at)
          oddNumbers ||= mayChangeWhenParsed(text, at, end)
          at = end - 1
        }
    }
  }
  return { depth: deepest, colons, commas, containers, oddNumbers }
}

/** The index after the digits and sign; fraction and exponent are not included. */
function numberEnd(text: string, from: number): number {
  let at = from + 1
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at += 1
  return at
}

function mayChangeWhenParsed(text: string, from: number, end: number): boolean {
  const next = text.charCodeAt(end)
  // . E e
  if (next === 0x2e || next === 0x45 || next === 0x65) return true
  return end - from >= 16 || (text.charCodeAt(from) === 0x2d && text.charCodeAt(from + 1) === 0x30)
}
