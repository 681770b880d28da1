import { normalForm } from '../transport-kit/normal-form.ts'
import type { Listed } from './cache.ts'

/** What templates are looked for by; all conditions hold. */
export interface TemplateQuery {
  /** Words, each of which stands somewhere in a template. */
  readonly q?: string | undefined
  readonly category?: string | undefined
  readonly tag?: string | undefined
  readonly source?: string | undefined
  /** Ids, of which only those are wanted. */
  readonly among?: ReadonlySet<string> | undefined
  /** Default `relevance`: the best matches first. */
  readonly sort?: 'relevance' | 'name' | '-name' | '-updatedAt' | '-toolCount' | undefined
}

/** Those that fit, the best first: words in the title count more than elsewhere, maintained ones come before others. */
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

/** Those of which the sorted fact is not known come last. */
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
