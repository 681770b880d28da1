import { Signal } from '@lit-labs/signals'

/** A signal, since a page may be drawn before the words are there. */
const words = new Signal.State<Readonly<Record<string, string>>>({})

/** Sets the Chinese for texts of the plugins that run, by the text. */
export function usePluginWords(given: Readonly<Record<string, string>>): void {
  words.set(given)
}

/** Chinese for a text of a plugin; undefined for texts without it. */
export function pluginWord(text: string | undefined): string | undefined {
  const known = words.get()
  return text !== undefined && Object.hasOwn(known, text) ? known[text] : undefined
}
