import type { Listed } from './cache.ts'

/** What templates are looked for by; all conditions hold. */
export interface TemplateQuery {
  /** Words, each of which stands somewhere in a template. */
  readonly q?: string | undefined
  readonly category?: string | undefined
  readonly tag?: string | undefined
  readonly source?: string | undefined
}

/** Those that fit, the best first: words in the title count more than elsewhere, maintained ones come before others. */
export function searchTemplates(all: readonly Listed[], { q = '', category, tag, source }: TemplateQuery): Listed[] {
  const words = q.normalize('NFKC').toLowerCase().split(/\s+/u).filter(Boolean)
  const fitting = all.filter(
    ({ source: from, text, template: { categories, tags = [] } }) =>
      (source === undefined || from === source) &&
      (category === undefined || categories.includes(category)) &&
      (tag === undefined || tags.includes(tag)) &&
      words.every(word => text.includes(word)),
  )
  const scored = fitting.map(listed => ({ listed, score: score(listed, words) }))
  scored.sort((one, other) => other.score - one.score || (one.listed.title < other.listed.title ? -1 : 1))
  return scored.map(({ listed }) => listed)
}

function score({ title, template: { status } }: Listed, words: readonly string[]): number {
  const inTitle = words.map(word => (title === word ? 4 : title.startsWith(word) ? 3 : title.includes(word) ? 2 : 0))
  const sum = inTitle.reduce<number>((total, one) => total + one, 0)
  return status === 'deprecated' ? sum - 1 : sum
}
