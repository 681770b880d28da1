import { configureLocalization, msg } from '@lit/localize'
import type { TemplateResult } from 'lit'
import { formatNumber } from './format.ts'
import { pluginWord } from './plugin-words.ts'
import { useProblemTexts } from './problem.ts'

/** Languages of the console. English texts are in the code, the others in `locales/`. */
export const LANGUAGES = { en: 'English', zh: '中文' } as const
/** Code of a language. */
export type Language = keyof typeof LANGUAGES

const localization = configureLocalization({
  sourceLocale: 'en',
  targetLocales: ['zh'],
  loadLocale: async () => {
    const [{ templates }, { templatesOfPlugins }, { titles, hints, fields }] = await Promise.all([
      import('../locales/zh/mod.ts'),
      import('../locales/zh/of-plugins.ts'),
      import('../locales/zh/problems/mod.ts'),
    ])
    useProblemTexts({ titles, hints, fields })
    return { templates: { ...templatesOfPlugins, ...templates } }
  },
})

/** Loads the texts of a language; elements render again by themselves. */
export async function setLanguage(code: Language): Promise<void> {
  if (code === 'en') useProblemTexts(undefined)
  await localization.setLocale(code)
  document.documentElement.lang = code === 'zh' ? 'zh-Hans' : 'en'
}

/** True while texts are Chinese. */
export function isChinese(): boolean {
  return localization.getLocale() === 'zh'
}

/** Values for the places of a text; numbers are written as in the language. */
export type TextValues = Readonly<Record<string, string | number>>

/**
 * A text in the language in use. The English text is its own key; `{name}` is a place for a value. A test compares the
 * keys of all languages with the literals of the code, so that `text` is a literal at every call. Texts of plugins from
 * elsewhere are in the `words` of their definition.
 */
export function t(text: string, values?: TextValues): string {
  const found = worded(text)
  if (values === undefined) return found
  return found.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = values[name]
    if (value === undefined) return place
    return typeof value === 'number' ? formatNumber(value) : value
  })
}

function worded(text: string): string {
  const found = msg(text, { id: text })
  return found === text && isChinese() ? (pluginWord(text) ?? text) : found
}

/** A text for a number of things, `{n}` being the number: `plural(2, '{n} server', '{n} servers')`. */
export function plural(n: number, one: string, other: string, values: TextValues = {}): string {
  return t(n === 1 ? one : other, { n, ...values })
}

/** A text in which placeholders are replaced by templates, such as a bold name. */
export function rich(text: string, values: Readonly<Record<string, string | number | TemplateResult>>): unknown[] {
  return worded(text)
    .split(/\{(\w+)\}/g)
    .map((part, at) => {
      if (at % 2 === 0) return part
      const value = values[part]
      return typeof value === 'number' ? formatNumber(value) : (value ?? '')
    })
}
