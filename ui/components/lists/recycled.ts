import { noChange } from 'lit'
import { type ChildPart, Directive, directive, type PartInfo, PartType } from 'lit/directive.js'
import {
  getCommittedValue,
  insertPart,
  removePart,
  setChildPartValue,
  setCommittedValue,
} from 'lit/directive-helpers.js'

/** Template of a row. */
type Template<T> = (row: T, at: number) => unknown

/**
 * Renders those rows of a list that are near the view. As with `repeat`, a row that stays keeps its elements; but a new row
 * takes over the elements of a removed one, and rows that stay are not moved: while a list is filtered, sorted or scrolled,
 * texts change and hardly any element is created. The elements with the focus are never taken over.
 */
class Recycled extends Directive {
  #keys: readonly unknown[] = []

  constructor(info: PartInfo) {
    super(info)
    if (info.type !== PartType.CHILD) throw new Error('recycled() stands for content of an element')
  }

  override render<T>(rows: readonly T[], _keyOf: (row: T) => unknown, template: Template<T>): unknown {
    return rows.map(template)
  }

  override update<T>(
    container: ChildPart,
    [rows, keyOf, template]: [readonly T[], (row: T) => unknown, Template<T>],
  ): unknown {
    const before = getCommittedValue(container) as readonly ChildPart[] | undefined
    const keysBefore = this.#keys
    this.#keys = rows.map(keyOf)
    // Drawn for the first time: the parts are made from the values.
    if (!Array.isArray(before)) return rows.map(template)
    const { from, gone } = sources(keysBefore, this.#keys, at => holdsFocus(container, before[at]))
    for (const at of gone) removePart(before[at] as ChildPart)
    const staying = longestRise(from)
    const parts: ChildPart[] = []
    let next: ChildPart | undefined
    for (let at = rows.length - 1; at >= 0; at -= 1) {
      const source = from[at]
      const known = source === undefined ? undefined : before[source]
      const part = known !== undefined && staying.has(at) ? known : insertPart(container, next, known)
      parts[at] = setChildPartValue(part, template(rows[at] as T, at))
      next = part
    }
    setCommittedValue(container, parts)
    return noChange
  }
}

/** Renders rows by a template. `keyOf`: returns a key that is unique in the list. */
export const recycled = directive(Recycled) as <T>(
  rows: readonly T[],
  keyOf: (row: T) => unknown,
  template: Template<T>,
) => unknown

/** For each key the index of the elements that it gets, undefined: new ones; and the indices of those that are not needed. */
function sources(
  before: readonly unknown[],
  after: readonly unknown[],
  isKept: (at: number) => boolean,
): { readonly from: readonly (number | undefined)[]; readonly gone: readonly number[] } {
  const places = new Map(before.map((key, at) => [key, at]))
  const from = after.map(key => places.get(key))
  const used = new Set(from)
  const free = before.flatMap((_, at) => (used.has(at) ? [] : [at]))
  const taken = new Set<number>()
  let next = 0
  for (let at = 0; at < from.length; at += 1) {
    if (from[at] !== undefined) continue
    while (next < free.length && isKept(free[next] as number)) next += 1
    const source = free[next]
    if (source === undefined) break
    next += 1
    taken.add(source)
    from[at] = source
  }
  return { from, gone: free.filter(at => !taken.has(at)) }
}

function holdsFocus({ parentNode }: ChildPart, part: ChildPart | undefined): boolean {
  const active = document.activeElement
  if (!part || !active || active === document.body || !parentNode.contains(active)) return false
  for (let node = part.startNode; node && node !== part.endNode; node = node.nextSibling) {
    if (node.contains(active)) return true
  }
  return false
}

/** The places of the longest rising sequence among the numbers: these elements need not be moved. */
function longestRise(numbers: readonly (number | undefined)[]): ReadonlySet<number> {
  /** For each length, the place where the sequence with the smallest end stops. */
  const ends: number[] = []
  const previous: (number | undefined)[] = []
  numbers.forEach((number, place) => {
    if (number === undefined) return
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((numbers[ends[middle] as number] as number) < number) low = middle + 1
      else high = middle
    }
    previous[place] = ends[low - 1]
    ends[low] = place
  })
  const rise = new Set<number>()
  for (let place = ends.at(-1); place !== undefined; place = previous[place]) rise.add(place)
  return rise
}
