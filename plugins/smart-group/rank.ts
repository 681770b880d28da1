import { FIELDS, hashOf, type ToolDocument, timesOf } from './tool-document.ts'
import type { Wanted } from './words.ts'

/** BM25F, with the usual saturation, and half of the usual weight of lengths, since short descriptions say less. */
const SATURATION = 1.2
const LENGTH_SHARE = 0.5
/** Weight of coverage: a tool with all requested words, by their rarity, counts twice as much as one with hardly any of them. */
const COVERAGE = 1
/** Weight of the name: a tool whose name has only requested words counts half more: `list_tables` before `list_table_columns`. */
const NAMED = 0.5
const NAME = FIELDS.findIndex(([field]) => field === 'tool')
const FIELD_BITS = 5
const FIELD_MASK = 31

/** Scores by place in the list; only of those that have something. */
export type Scores = ReadonlyMap<number, number>

/** Score of each tool of a caller. Frequencies are those of the caller's own tools, so that scores reveal nothing else. */
export function rank(documents: readonly ToolDocument[], wanted: readonly Wanted[]): Scores {
  const norms = normsOf(documents)
  const scores = new Float64Array(documents.length)
  const covered = new Float64Array(documents.length)
  const named = new Float64Array(documents.length)
  let totalRarity = 0
  for (const words of wanted) {
    const { best, inName, rarity } = fitOf(documents, words, norms)
    totalRarity += rarity
    best.forEach((score, at) => {
      if (score === 0) return
      scores[at] = (scores[at] ?? 0) + score
      covered[at] = (covered[at] ?? 0) + Math.min(rarity, score)
      named[at] = (named[at] ?? 0) + (inName[at] ?? 0)
    })
  }
  const result = new Map<number, number>()
  scores.forEach((score, at) => {
    if (score === 0) return
    const ofName = Math.min(1, (named[at] ?? 0) / (documents[at]?.lengths[NAME] || 1))
    result.set(at, score * (1 + (COVERAGE * (covered[at] ?? 0)) / totalRarity) * (1 + NAMED * ofName))
  })
  return result
}

/** Fit of each tool to one requested thing, by the best matching word. */
interface Fit {
  readonly best: Float64Array
  /** Weight of a word in the tool's name; 0: there is none. */
  readonly inName: Float64Array
  /** Rarity of the words that some tool has. */
  readonly rarity: number
}

function fitOf(documents: readonly ToolDocument[], words: Wanted, norms: readonly number[]): Fit {
  const best = new Float64Array(documents.length)
  const inName = new Float64Array(documents.length)
  let rarest = 0
  // A synonym of a common word is not rarer than that word.
  let most = Number.POSITIVE_INFINITY
  for (const [word, weight] of words) {
    const found = occurrences(documents, hashOf(word), norms)
    if (found.length === 0) continue
    const rarity = Math.min(most, Math.log(1 + (documents.length - found.length + 0.5) / (found.length + 0.5)))
    if (weight === 1) most = rarity
    rarest = Math.max(rarest, weight * rarity)
    for (const { at, times, isNamed } of found) {
      const score = (weight * rarity * times * (SATURATION + 1)) / (times + SATURATION)
      best[at] = Math.max(best[at] ?? 0, score)
      if (isNamed) inName[at] = Math.max(inName[at] ?? 0, weight)
    }
  }
  return { best, inName, rarity: rarest }
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
  const found: { readonly at: number; readonly times: number; readonly isNamed: boolean }[] = []
  documents.forEach((document, at) => {
    const packed = timesOf(document, word)
    if (packed === 0) return
    const isNamed = ((packed >>> (NAME * FIELD_BITS)) & FIELD_MASK) > 0
    found.push({ at, times: weighted(packed, document.lengths, norms), isNamed })
  })
  return found
}

/** Frequency of a word in a tool, weighted by the fields and their lengths. */
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
