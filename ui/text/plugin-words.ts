let words: Readonly<Record<string, string>> = {}

/** Sets the Chinese for texts of the plugins that run, by the text. */
export function usePluginWords(given: Readonly<Record<string, string>>): void {
  words = given
}

/** Chinese for a text of a plugin; undefined for texts without it. */
export function pluginWord(text: string | undefined): string | undefined {
  return text !== undefined && Object.hasOwn(words, text) ? words[text] : undefined
}
