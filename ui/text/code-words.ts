import { html } from 'lit'

/** Returns a text in which names between backticks are formatted as code. */
export function codeWords(text: string): unknown {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 0 ? part : html`<code>${part}</code>`))
}
