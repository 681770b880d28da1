import { FIELDS, hashOf, type ToolDocument, timesOf } from './tool-document.ts'
import type { Wanted } from './words.ts'

/** BM25F, with the usual saturation, and half of the usual weight of lengths, since short descriptions say less. */
const SATURATION = 1.2
const LENGTH_SHARE = 0.5
/** A tool that has all that is asked for counts half more than one that has nearly nothing of it. */
const COVERAGE = 0.5
const FIELD_BITS = 5
const FIELD_MASK = 31

/** Scores by place in the list; only of those that have something. */
export type Scores = ReadonlyMap<number, number>

/** How well each tool of a caller fits. Frequencies are those of the caller's own tools, so that scores tell nothing else. */
export function rank(documents: readonly ToolDocument[], wanted: readonly Wanted[]): Scores {
  const norms = normsOf(documents)
  const scores = new Float64Array(documents.length)
  const covered = new Uint16Array(documents.length)
  for (const words of wanted) {
    const best = new Float64Array(documents.length)
    // What stands in for a common word is no rarer than that word.
    let most = Number.POSITIVE_INFINITY
    for (const [word, weight] of words) {
      const found = occurrences(documents, hashOf(word), norms)
      const rarity = Math.min(most, Math.log(1 + (documents.length - found.length + 0.5) / (found.length + 0.5)))
      if (weight === 1 && found.length > 0) most = rarity
      for (const { at, times } of found) {
        const score = (weight * rarity * times * (SATURATION + 1)) / (times + SATURATION)
        if (score > (best[at] ?? 0)) best[at] = score
      }
    }
    best.forEach((score, at) => {
      if (score === 0) return
      scores[at] = (scores[at] ?? 0) + score
      covered[at] = (covered[at] ?? 0) + 1
    })
  }
  const result = new Map<number, number>()
  scores.forEach((score, at) => {
    if (score > 0) result.set(at, score * (1 + (COVERAGE * (covered[at] ?? 0)) / wanted.length))
  })
  return result
}

/** The places of the best, best first; equal ones in the order of the list. */
export function bestOf(scores: Scores, most: number): readonly number[] {
  const sorted = [...scores].sort(([one, left], [other, right]) => right - left || one - other)
  return sorted.slice(0, most).map(([at]) => at)
}

/** Average words of each field. */
function normsOf(documents: readonly ToolDocument[]): readonly number[] {
  return FIELDS.map((_, field) => {
    const sum = documents.reduce((total, { lengths }) => total + (lengths[field] ?? 0), 0)
    return Math.max(1, sum / Math.max(1, documents.length))
  })
}

function occurrences(documents: readonly ToolDocument[], word: number, norms: readonly number[]) {
  const found: { readonly at: number; readonly times: number }[] = []
  documents.forEach((document, at) => {
    const packed = timesOf(document, word)
    if (packed !== 0) found.push({ at, times: weighted(packed, document.lengths, norms) })
  })
  return found
}

/** How often a word stands in a tool, by the weights of the fields and their lengths. */
function weighted(packed: number, lengths: readonly number[], norms: readonly number[]): number {
  let sum = 0
  for (let field = 0; field < FIELDS.length; field += 1) {
    const times = (packed >>> (field * FIELD_BITS)) & FIELD_MASK
    if (times === 0) continue
    const length = 1 - LENGTH_SHARE + (LENGTH_SHARE * (lengths[field] ?? 0)) / (norms[field] ?? 1)
    sum += ((FIELDS[field]?.[1] ?? 0) * times) / length
  }
  return sum
}
