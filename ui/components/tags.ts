import { html, nothing, type TemplateResult } from 'lit'
import { t } from '../text/t.ts'

/** Tags shown in one row of a list. */
const SHOWN = 4

/** The tags of a server or group in a list. */
export function tagsOf(tags: readonly string[] = []): unknown {
  const rest = tags.length - SHOWN
  return tags.length === 0
    ? nothing
    : html`${tags.slice(0, SHOWN).map(tag => html` <span class="tag line">${tag}</span>`)}${rest > 0 ? html` <span class="f xs" title=${tags.join(', ')}>+${rest}</span>` : nothing}`
}

/** Every tag of these things, in one spelling each, in the order of the alphabet. */
export function allTags(things: readonly { readonly tags?: readonly string[] }[]): readonly string[] {
  const found = new Map<string, string>()
  for (const tag of things.flatMap(({ tags = [] }) => tags)) {
    const key = tag.toLowerCase()
    if (!found.has(key)) found.set(key, tag)
  }
  return [...found.values()].sort((left, right) => left.localeCompare(right))
}

/** True when a thing has the tag; letter case is ignored, and no tag fits everything. */
export function hasTag({ tags = [] }: { readonly tags?: readonly string[] }, wanted: string | undefined): boolean {
  return !wanted || tags.some(tag => tag.toLowerCase() === wanted.toLowerCase())
}

/** Tags as they are typed: separated by commas. */
export function tagsIn(text: string): readonly string[] {
  return text
    .split(/[,，、]/)
    .map(tag => tag.trim())
    .filter(tag => tag !== '')
}

/** Chips that filter a list by one tag; nothing where no thing has one. */
export function tagFilter(
  things: readonly { readonly tags?: readonly string[] }[],
  chosen: string | undefined,
  choose: (tag: string | undefined) => void,
): TemplateResult | typeof nothing {
  const tags = allTags(things)
  if (tags.length === 0) return nothing
  return html`<span class="chips row wrap" role="group" aria-label=${t('Tags')}>${tags.map(tag => {
    const isOn = tag.toLowerCase() === chosen?.toLowerCase()
    return html`<button type="button" class="chip ${isOn ? 'on' : ''}" aria-pressed=${isOn ? 'true' : 'false'} @click=${() => choose(isOn ? undefined : tag)}>${tag} <b>${things.filter(thing => hasTag(thing, tag)).length}</b></button>`
  })}</span>`
}
