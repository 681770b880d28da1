import { visibleName } from './visible-text.ts'

/** Words that a shell and a reader take as they are. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/

/**
 * Formats a command for people to read before it runs: each word with a blank, a quote or anything but plain ASCII is put in
 * single quotes as for a shell, with hidden characters shown, so that the limits of each word are visible.
 */
export function quotedWords(words: readonly string[]): string {
  return words.map(quotedWord).join(' ')
}

function quotedWord(word: string): string {
  return PLAIN.test(word) ? word : `'${visibleName(word).replaceAll("'", "'\\''")}'`
}
