/** Longest address that becomes a link, in characters. */
const LINK_CHARACTERS = 2_048
/** Longest foreign text that a page shows; the rest is cut. */
const SHOWN_CHARACTERS = 4_000
/** Characters that hide, reorder or break text: controls, directions, zero widths, tags, surrogates, line ends. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * An address that somebody else wrote, for a link: `http` or `https` without a user name, at most 2,048 characters, none of
 * them invisible. Undefined for everything else, which belongs on a page as text alone. `href` is in ASCII.
 */
export function webLink(address: unknown): URL | undefined {
  if (typeof address !== 'string' || address.length > LINK_CHARACTERS) return undefined
  if (address.search(HIDDEN) >= 0 || !/^https?:\/\//i.test(address)) return undefined
  const url = URL.parse(address)
  return url && url.username === '' && url.password === '' ? url : undefined
}

/** A foreign text as it can be read: invisible characters by their numbers, cut after 4,000 characters. */
export function foreignText(text: unknown): string {
  const whole = typeof text === 'string' ? text : text === undefined ? '' : JSON.stringify(text)
  const shown = whole.length > SHOWN_CHARACTERS ? `${whole.slice(0, SHOWN_CHARACTERS)}…` : whole
  return shown.replace(HIDDEN, character =>
    character === '\n' || character === '\t'
      ? character
      : `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  )
}
