/** Longer words are not compared: a typing error in a name of 65 characters or more needs no suggestion. */
const LONGEST_WORD = 64
/**
 * Work limit of one search, in cells of the distance table; about half a millisecond. Later names of a large catalogue
 * are then not suggested, so that requests with unknown names do not slow down others.
 */
const MOST_CELLS = 50_000
/** Cost of a name rejected by length alone, and of one searched for the word, in cells. */
const LENGTH_CELLS = 2
const SEARCH_CELLS = 20

/** Number of problems of one body that get a suggestion; the searches together stay within 2 ms. */
export const SUGGESTIONS = 4

/** Options of the search for near names. */
export interface NearOptions {
  /** Most letters to insert, delete or replace. */
  readonly allowed: number
  /** Counts a name that contains the word, or is part of it, as one letter away. Default false. */
  readonly parts?: boolean
}

/** The candidate that was most likely meant by a misspelt word, or undefined when none is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  return nearNames(word, candidates, { allowed: Math.max(1, Math.floor(word.length / 3)) })[0]
}

/** At most three known names that the caller may have meant, best first. */
export function suggestNames(name: string, known: Iterable<string>): string[] {
  const allowed = Math.max(2, Math.min(4, Math.floor(name.length / 4)))
  return nearNames(name, known, { allowed, parts: true }).slice(0, 3)
}

/** Error options with these names as the hint; empty without names. */
export function meantHint(names: readonly string[]): { readonly hint?: string } {
  return names.length > 0 ? { hint: `Did you mean ${names.map(name => `"${name}"`).join(' or ')}?` } : {}
}

/**
 * The candidates that may have been meant by a word, by distance and then name. Stops after a fixed amount of work,
 * regardless of the number of candidates. Empty for a word of more than 64 characters.
 */
function nearNames(word: string, candidates: Iterable<string>, options: NearOptions): string[] {
  if (word.length > LONGEST_WORD) return []
  const wanted = word.toLowerCase()
  const found: { name: string; distance: number }[] = []
  let cells = MOST_CELLS
  for (const name of candidates) {
    cells -= LENGTH_CELLS
    if (cells < 0) break
    const measured = measure(wanted, name, options)
    if (!measured) continue
    cells -= measured.cells
    if (measured.distance <= options.allowed) found.push({ name, distance: measured.distance })
  }
  found.sort((left, right) => left.distance - right.distance || (left.name < right.name ? -1 : 1))
  return found.map(({ name }) => name)
}

/**
 * Returns the distance of a candidate from a word in lower case, and the number of cells computed; undefined if their lengths
 * differ too much.
 */
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

/** Levenshtein distance: letters to insert, delete or replace; `allowed + 1` when it is larger than allowed. */
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
