import type { LocalText } from '../contract/page.ts'

/** The English of a plugin's text. */
export function inEnglish(text: LocalText): string {
  return typeof text === 'string' ? text : text.en
}
