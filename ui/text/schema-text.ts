import { preferences } from '../app/preferences.ts'

type Texts = Readonly<Record<string, unknown>>

/** Title or description of a JSON Schema in the language of the page, if its plugin has it; empty if there is none. */
export function schemaText(schema: object, name: 'title' | 'description'): string {
  const translated =
    preferences.language === 'zh' ? ((schema as Texts)['x-zh'] as Texts | undefined)?.[name] : undefined
  const text = translated ?? (schema as Texts)[name]
  return typeof text === 'string' ? text : ''
}
