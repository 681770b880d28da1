import type { Finder, Found } from './types.ts'

/** Longest pattern, and most patterns of a rule. */
export const PATTERN_CHARACTERS = 200
export const MOST_PATTERNS = 20

/** One character of a part: itself, any, or a digit. */
type Unit = string | { readonly any: 'character' | 'digit' }

/** A part of a pattern between two `*`. */
interface Part {
  readonly length: number
  /** The longest run of its characters, which is searched for, and where it is in the part. */
  readonly anchor: string
  readonly anchorAt: number
  /** The other characters and digits that must be there. */
  readonly others: readonly { readonly at: number; readonly code: number | 'digit' }[]
}

/**
 * Finds the places of patterns, whatever their case. `*` stands for any characters of one line, `?` for one character, `#` for one
 * digit, and `\` takes the meaning of the character behind it. Nothing else has a meaning. Each part is searched for in
 * turn, from left to right, and no part is searched for twice at one place, so that the work is at most the length of the text times
 * that of the pattern.
 */
export function patternFinder(patterns: readonly string[], kind: string): Finder {
  const read = patterns.map(pattern => partsOf(pattern.toLowerCase()))
  return text => {
    const lower = lowered(text)
    return read.flatMap(parts => placesIn(lower, parts, kind))
  }
}

/** A pattern that stands for nothing but `*` matches every text. */
export function isEmptyPattern(pattern: string): boolean {
  return partsOf(pattern).length === 0
}

/** Lower case of the same length: a few letters become two, which would move all places behind them. */
function lowered(text: string): string {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

function partsOf(pattern: string): readonly Part[] {
  const parts: Part[] = []
  let units: Unit[] = []
  const close = () => {
    if (units.length > 0) parts.push(partOf(units))
    units = []
  }
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? ''
    if (character === '*') close()
    else if (character === '?') units.push({ any: 'character' })
    else if (character === '#') units.push({ any: 'digit' })
    else if (character === '\\' && at + 1 < pattern.length) {
      at += 1
      units.push(pattern[at] ?? '')
    } else units.push(character)
  }
  close()
  return parts
}

function partOf(units: readonly Unit[]): Part {
  let anchor = ''
  let anchorAt = 0
  let run = ''
  for (const [at, unit] of units.entries()) {
    run = typeof unit === 'string' ? run + unit : ''
    if (run.length <= anchor.length) continue
    anchor = run
    anchorAt = at + 1 - run.length
  }
  const others = units.flatMap((unit, at): Part['others'][number][] => {
    if (at >= anchorAt && at < anchorAt + anchor.length) return []
    if (typeof unit === 'string') return [{ at, code: unit.charCodeAt(0) }]
    return unit.any === 'digit' ? [{ at, code: 'digit' }] : []
  })
  return { length: units.length, anchor, anchorAt, others }
}

function placesIn(text: string, parts: readonly Part[], kind: string): Found[] {
  const [first, ...rest] = parts
  if (!first) return []
  const found: Found[] = []
  // The next place of each part, which only moves forward.
  const next = rest.map(() => -1)
  for (let start = indexOf(text, first, 0); start >= 0; ) {
    const lineEnd = endOfLine(text, start)
    let end = start + first.length
    const isWhole = rest.every((part, index) => {
      if ((next[index] ?? -1) < end) next[index] = indexOf(text, part, end)
      const at = next[index] ?? -1
      if (at < 0) next[index] = Number.POSITIVE_INFINITY
      const isThere = at >= 0 && at + part.length <= lineEnd
      if (isThere) end = at + part.length
      return isThere
    })
    if (isWhole && end <= Math.max(lineEnd, start + first.length)) found.push({ kind, start, end })
    // A part that is missing in this line is missing for all starts in it.
    const from = isWhole ? Math.max(end, start + 1) : rest.length > 0 ? lineEnd + 1 : start + 1
    start = from > text.length ? -1 : indexOf(text, first, from)
  }
  return found
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at < 0 ? text.length : at
}

function indexOf(text: string, { length, anchor, anchorAt, others }: Part, from: number): number {
  for (let at = from; at + length <= text.length; at += 1) {
    if (anchor !== '') at = text.indexOf(anchor, at + anchorAt) - anchorAt
    if (at < from || at + length > text.length) return -1
    if (others.every(other => isThere(text.charCodeAt(at + other.at), other.code))) return at
  }
  return -1
}

function isThere(code: number, wanted: number | 'digit'): boolean {
  return wanted === 'digit' ? code >= 48 && code <= 57 : code === wanted
}
