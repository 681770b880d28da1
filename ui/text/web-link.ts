import { hasHidden, visibleText } from '../../core/domain/text/visible-text.ts'

/** Length of the longest address that becomes a link, in characters. */
const LINK_CHARACTERS = 2_048
/** Longest foreign text that a page shows, in characters; longer ones are cut. */
const SHOWN_CHARACTERS = 4_000

/**
 * An address from another person, for a link: `http` or `https` without a user name, at most 2,048 characters, without invisible
 * ones. Undefined for everything else, which is shown only as text. `href` is in ASCII.
 */
export function webLink(address: unknown): URL | undefined {
  if (typeof address !== 'string' || address.length > LINK_CHARACTERS) return undefined
  if (hasHidden(address) || !/^https?:\/\//i.test(address)) return undefined
  const url = URL.parse(address)
  return url && url.username === '' && url.password === '' ? url : undefined
}

/** A foreign text as it can be read: invisible characters by their numbers, cut after 4,000 characters. */
export function foreignText(text: unknown): string {
  const whole = typeof text === 'string' ? text : text === undefined ? '' : JSON.stringify(text)
  const shown = whole.length > SHOWN_CHARACTERS ? `${whole.slice(0, SHOWN_CHARACTERS)}…` : whole
  return visibleText(shown)
}
