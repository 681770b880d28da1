import { html } from 'lit'

/** A text in which names stand between backticks, with those set as code. */
export function codeWords(text: string): unknown {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 0 ? part : html`<code>${part}</code>`))
}
