import { normalForm } from 'patchbay/transport-kit'
import type { Listed } from './cache.ts'

/** Filter of templates; all conditions must hold. */
export interface TemplateQuery {
  /** Words, each of which must occur in a template. */
  readonly q?: string | undefined
  readonly category?: string | undefined
  readonly tag?: string | undefined
  readonly source?: string | undefined
  /** Ids; only templates among these match. */
  readonly among?: ReadonlySet<string> | undefined
  /** Default `relevance`: the best matches first. */
  readonly sort?: 'relevance' | 'name' | '-name' | '-updatedAt' | '-toolCount' | undefined
}

/**
 * Returns the matching templates, best first: words in the title count more than elsewhere, and maintained templates precede
 * others.
 */
export function searchTemplates(all: readonly Listed[], query: TemplateQuery): Listed[] {
  const { q = '', category, tag, source, among, sort = 'relevance' } = query
  const words = normalForm(q, 'NFKC').toLowerCase().split(/\s+/u).filter(Boolean)
  const fitting = all.filter(
    ({ id, source: from, text, template: { categories, tags = [] } }) =>
      (source === undefined || from === source) &&
      (among === undefined || among.has(id)) &&
      (category === undefined || categories.includes(category)) &&
      (tag === undefined || tags.includes(tag)) &&
      words.every(word => text.includes(word)),
  )
  if (sort !== 'relevance') return fitting.toSorted(ORDERS[sort])
  const scored = fitting.map(listed => ({ listed, score: score(listed, words) }))
  scored.sort((one, other) => other.score - one.score || (one.listed.title < other.listed.title ? -1 : 1))
  return scored.map(({ listed }) => listed)
}

const byTitle = (one: Listed, other: Listed): number => (one.title < other.title ? -1 : 1)

/** Templates without the sorted value are last. */
const ORDERS = {
  name: byTitle,
  '-name': (one, other) => -byTitle(one, other),
  '-updatedAt': (one, other) => compareTexts(other.template.updatedAt, one.template.updatedAt) || byTitle(one, other),
  '-toolCount': (one, other) =>
    (other.template.toolCount ?? -1) - (one.template.toolCount ?? -1) || byTitle(one, other),
} as const satisfies Record<string, (one: Listed, other: Listed) => number>

function compareTexts(one = '', other = ''): number {
  return one === other ? 0 : one < other ? -1 : 1
}

function score({ title, template: { status } }: Listed, words: readonly string[]): number {
  const inTitle = words.map(word => (title === word ? 4 : title.startsWith(word) ? 3 : title.includes(word) ? 2 : 0))
  const sum = inTitle.reduce<number>((total, one) => total + one, 0)
  return status === 'deprecated' ? sum - 1 : sum
}
