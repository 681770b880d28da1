import { visibleName } from './visible-text.ts'

/** Words that a shell and a reader take as they are. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/

/**
 * A command as people read it before it runs: each word that has a blank, a quote or anything else than plain ASCII stands in
 * single quotes as a shell would take it, hidden characters shown, so that it is seen where a word begins and ends.
 */
export function quotedWords(words: readonly string[]): string {
  return words.map(quotedWord).join(' ')
}

function quotedWord(word: string): string {
  return PLAIN.test(word) ? word : `'${visibleName(word).replaceAll("'", "'\\''")}'`
}
