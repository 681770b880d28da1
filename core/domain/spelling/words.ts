/** Other words for those that the hub has; both sides by their letters and digits alone. */
const SYNONYMS: Readonly<Record<string, string>> = {
  warning: 'warn',
  warn: 'warning',
  notpublic: 'private',
  chatwebhook: 'chat',
  slack: 'chat',
  genericwebhook: 'webhook',
  averageresponsetime: 'avgresponsetime',
  responsetime: 'avgresponsetime',
}

/** Longer texts are no spelling of any word. Comparing them takes 0.1 s for each 10 MB. */
const MOST_LETTERS = 256

/**
 * The word of a fixed list that a text means: the word itself, or one with the same letters and digits in any case, such as
 * `Streamable-HTTP`, `streamable_http` and `streamableHttp`, or a synonym of one. Undefined for any other text.
 */
export function wordIn<Word extends string>(known: readonly Word[], text: string): Word | undefined {
  const exact = known.find(word => word === text)
  if (exact !== undefined || text.length > MOST_LETTERS) return exact
  const plain = lettersOf(text)
  if (plain === '') return undefined
  const same = known.find(word => lettersOf(word) === plain)
  if (same !== undefined) return same
  const synonym = Object.hasOwn(SYNONYMS, plain) ? SYNONYMS[plain] : undefined
  return known.find(word => lettersOf(word) === synonym)
}

function lettersOf(text: string): string {
  return text.toLowerCase().replaceAll(/[-_ ]/g, '')
}
