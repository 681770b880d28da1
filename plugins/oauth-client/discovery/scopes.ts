/** Scopes that one sign-in asks for at most. */
export const MOST_SCOPES = 100
/** A scope (RFC 6749, 3.3). */
export const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** The scopes of a list, or of a text with blanks between them; what is none is left out. Undefined for anything else. */
export function readScopes(given: unknown): readonly string[] | undefined {
  const all: unknown = typeof given === 'string' ? given.split(/\s+/) : given
  return Array.isArray(all) ? distinctScopes(all.filter(one => typeof one === 'string')) : undefined
}

/** Each scope once, and no more than may be asked for. */
export function distinctScopes(scopes: readonly string[]): readonly string[] {
  return [...new Set(scopes)].filter(one => SCOPE.test(one)).slice(0, MOST_SCOPES)
}
