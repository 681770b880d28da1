/** Longer words are not compared: nobody misspelt a name of 65 characters by one letter. */
const LONGEST_WORD = 64
/**
 * Work that one search may cost, in cells of the table of distances; about half a millisecond. Names that come later in a large
 * catalogue are then not suggested, since a caller who asks for unknown names must not slow down the others.
 */
const MOST_CELLS = 50_000
/** What a name costs that is told apart by its length alone, and one that is searched for the word, in cells. */
const LOOK_CELLS = 2
const SEARCH_CELLS = 20

/** So many problems of one body may name a near candidate; the searches together stay within 2 ms. */
export const SUGGESTIONS = 4

export interface NearOptions {
  /** Most letters to insert, delete or replace. */
  readonly allowed: number
  /** Counts a name that contains the word, or is part of it, as one letter away. Default false. */
  readonly parts?: boolean
}

/** The candidate that a person most likely meant by a misspelt word, or undefined when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  return nearNames(word, candidates, { allowed: Math.max(1, Math.floor(word.length / 3)) })[0]
}

/** Names that a caller may have meant by a name that is not there, best first: three at most. */
export function suggestNames(name: string, known: Iterable<string>): string[] {
  const allowed = Math.max(2, Math.min(4, Math.floor(name.length / 4)))
  return nearNames(name, known, { allowed, parts: true }).slice(0, 3)
}

/** The options of an error whose remedy is one of these names; none without any. */
export function meantHint(names: readonly string[]): { readonly hint?: string } {
  return names.length > 0 ? { hint: `Did you mean ${names.map(name => `"${name}"`).join(' or ')}?` } : {}
}

/**
 * The candidates that a person may have meant by a word, best first, those of one distance by name. Ends after a fixed
 * amount of work, however many candidates there are. Empty for a word of more than 64 characters.
 */
function nearNames(word: string, candidates: Iterable<string>, options: NearOptions): string[] {
  if (word.length > LONGEST_WORD) return []
  const wanted = word.toLowerCase()
  const found: { name: string; distance: number }[] = []
  let cells = MOST_CELLS
  for (const name of candidates) {
    cells -= LOOK_CELLS
    if (cells < 0) break
    const measured = measure(wanted, name, options)
    if (!measured) continue
    cells -= measured.cells
    if (measured.distance <= options.allowed) found.push({ name, distance: measured.distance })
  }
  found.sort((left, right) => left.distance - right.distance || (left.name < right.name ? -1 : 1))
  return found.map(({ name }) => name)
}

/** How far a candidate is from a word in lower case, and what that took; undefined for one of quite another length. */
function measure(wanted: string, name: string, { allowed, parts }: NearOptions) {
  const comparable = Math.abs(name.length - wanted.length) <= allowed
  if (!comparable && (!parts || name.length > LONGEST_WORD)) return undefined
  const lower = name.toLowerCase()
  const searched = parts ? SEARCH_CELLS : 0
  if (parts && contains(lower, wanted)) return { distance: 1, cells: searched }
  if (!comparable) return { distance: Number.POSITIVE_INFINITY, cells: searched }
  const cells = searched + (wanted.length + 1) * (lower.length + 1)
  return { distance: editDistance(wanted, lower, allowed), cells }
}

function contains(name: string, word: string): boolean {
  return word.length >= 3 && (name.includes(word) || (name.length >= 3 && word.includes(name)))
}

/** Levenshtein's distance: letters to insert, delete or replace; `allowed + 1` where it is larger than allowed. */
function editDistance(left: string, right: string, allowed: number): number {
  let previous = new Uint8Array(right.length + 1)
  let current = new Uint8Array(right.length + 1)
  for (let column = 0; column <= right.length; column += 1) previous[column] = column
  for (let row = 1; row <= left.length; row += 1) {
    const letter = left.charCodeAt(row - 1)
    let least = row
    current[0] = row
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = previous[column - 1]! + (letter === right.charCodeAt(column - 1) ? 0 : 1)
      const distance = Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1)
      current[column] = distance
      if (distance < least) least = distance
    }
    if (least > allowed) return allowed + 1
    const spare = previous
    previous = current
    current = spare
  }
  return previous[right.length]!
}
