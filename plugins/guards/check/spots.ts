import { type Decoded, joinedLines, layersOf } from '../find/decoded.ts'
import { encodedParts } from '../find/encoded.ts'
import type { Finder, Found } from '../find/types.ts'
import type { Compiled } from './compile.ts'

/** Longer texts are read in pieces that overlap, so that decoding them takes little memory. */
const PIECE = 256 * 1024
/** Longer than a private key in PEM. */
const OVERLAP = 16 * 1024

/** A place that a rule found in a text. */
export interface Spot extends Found {
  readonly rule: number
}

/** A part of a text to be replaced, since the text that it encodes has masked places. */
interface Replacement {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The places in one text. `masked`: the text with its marks; undefined: unchanged. */
export interface Inspected {
  readonly spots: readonly Spot[]
  readonly masked: string | undefined
}

/** The finders of a rule for a kind of place. */
export type FindersOf = (rule: Compiled) => readonly Finder[]

/** The way to read a text. */
interface Look {
  readonly of: FindersOf
  /** The name of the member whose value the text is. */
  readonly name?: string | undefined
  /** Places that are known already. */
  readonly more?: readonly Spot[]
  /** Texts around this one that encode it. */
  readonly depth?: number
}

/** Looks for everything in one text, in each of its layers and in the texts that it encodes. */
export function inspect(text: string, rules: readonly Compiled[], options: Look): Inspected {
  const { more = [], depth = 0 } = options
  const spots: Spot[] = [...more]
  const replacements: Replacement[] = []
  if (text.length <= PIECE) findIn(text, 0, rules, options, spots)
  else
    for (let from = 0; from < text.length; from += PIECE)
      findIn(text.slice(from, from + PIECE + OVERLAP), from, rules, options, spots)
  for (const { start, end, text: inner, encode } of encodedParts(text, depth)) {
    const found = inspect(inner, rules, { of: options.of, name: options.name, depth: depth + 1 })
    for (const spot of found.spots) spots.push({ ...spot, start, end })
    if (found.masked !== undefined) replacements.push({ start, end, text: encode(found.masked) })
  }
  const distinct = withoutRepeated(spots)
  return { spots: distinct, masked: masked(text, distinct, rules, replacements) }
}

/** Adds what is found in one piece of a text, which begins at `from`. */
function findIn(piece: string, from: number, rules: readonly Compiled[], { of, name }: Look, spots: Spot[]): void {
  const finders = rules.flatMap((compiled, rule) => of(compiled).map(find => ({ rule, find })))
  const acrossLines = rules.flatMap((compiled, rule) =>
    of(compiled).some(find => compiled.anywhere.includes(find))
      ? compiled.acrossLines.map(find => ({ rule, find }))
      : [],
  )
  const scanLayer = (layer: Decoded, by: typeof finders, named: string | undefined) => {
    for (const { rule, find } of by)
      for (const found of find(layer.text, named)) {
        const { start, end } = placeIn(layer, found)
        // The piece before has a place at the beginning whole, with what is in front of it.
        if (end > start && (from === 0 || start > 0))
          spots.push({ ...found, rule, start: from + start, end: from + end })
      }
  }
  for (const layer of layersOf(piece)) {
    scanLayer(layer, finders, name)
    const joined = acrossLines.length > 0 ? joinedLines(layer) : undefined
    if (joined) scanLayer(joined, acrossLines, undefined)
  }
}

/** The place in the text that was written. */
function placeIn({ starts, ends }: Decoded, { start, end }: Found) {
  return { start: starts?.[start] ?? start, end: ends?.[end - 1] ?? end }
}

/** The mark in the place of what was masked. */
export function markOf(kind: string): string {
  return `[masked:${kind}]`
}

/** One place is found in several layers: it counts once. */
function withoutRepeated(spots: readonly Spot[]): readonly Spot[] {
  if (spots.length < 2) return spots
  const sorted = spots.toSorted((a, b) => a.rule - b.rule || a.start - b.start || b.end - a.end)
  const kept: Spot[] = []
  for (const spot of sorted) {
    const last = kept.at(-1)
    const isIn =
      last && last.rule === spot.rule && spot.start < last.end && (last.kind === spot.kind || spot.end <= last.end)
    if (last && isIn) kept[kept.length - 1] = { ...last, end: Math.max(last.end, spot.end) }
    else kept.push(spot)
  }
  return kept
}

function masked(
  text: string,
  spots: readonly Spot[],
  rules: readonly Compiled[],
  replacements: readonly Replacement[],
): string | undefined {
  const marks: Replacement[] = []
  const encoded = new Set(replacements.map(({ start, end }) => `${start} ${end}`))
  for (const { rule, kind, start, end } of spots) {
    if (rules[rule]?.then !== 'mask') continue
    // The place of a spot in an encoded text is the whole of it, whose replacement is valid in the same encoding.
    if (!encoded.has(`${start} ${end}`)) marks.push({ start, end, text: markOf(kind) })
  }
  const all = [...replacements, ...marks].sort((a, b) => a.start - b.start || b.end - a.end)
  if (all.length === 0) return undefined
  let result = ''
  let at = 0
  for (const { start, end, text: mark } of all) {
    if (start < at) {
      // It overlaps the one before, whose mark stands for both.
      at = Math.max(at, end)
      continue
    }
    result += text.slice(at, start) + mark
    at = end
  }
  return result + text.slice(at)
}
