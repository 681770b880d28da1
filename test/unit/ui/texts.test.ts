import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { templates as ofConsole } from '../../../ui/locales/zh/mod.ts'
import { templatesOfPlugins } from '../../../ui/locales/zh/of-plugins.ts'

const ROOT = join(import.meta.dir, '../../..')
const templates: Readonly<Record<string, string>> = { ...templatesOfPlugins, ...ofConsole }
const below = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(path => `${folder}/${path}`)
const files = [...below('ui'), ...below('plugins').filter(path => /^plugins\/[\w-]+\/console\//.test(path))]
  .filter(path => path.endsWith('.ts') && !/^ui\/(?:dist|locales|build)|\/words\.zh\.ts$/.test(path))
  .map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

const LITERAL = String.raw`(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")`

/** The texts in calls of `t`, `rich` and `plural`, as the console shows them. */
function used(text: string): string[] {
  const found: string[] = []
  for (const [, single, double] of text.matchAll(new RegExp(String.raw`\b(?:t|rich)\(\s*${LITERAL}`, 'g')))
    found.push(unescaped(single ?? double ?? ''))
  for (const [, a, b, c, d] of text.matchAll(
    new RegExp(String.raw`\bplural\([^'"]*?,\s*${LITERAL},\s*${LITERAL}`, 'g'),
  ))
    found.push(unescaped(a ?? b ?? ''), unescaped(c ?? d ?? ''))
  return found
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, '$1')
}

/** The files with Chinese texts by their English. Titles, hints and fields of problems are by code, and apart from each other. */
const translations = [...below('ui/locales/zh'), ...below('plugins').filter(path => path.endsWith('/words.zh.ts'))]
  .filter(
    path =>
      path.endsWith('.ts') && !/\/(?:mod|of-plugins)\.ts$|\/problems\//.test(path) && /\/zh\/|\/console\//.test(path),
  )
  .sort()

const texts = new Map<string, string>()
for (const { path, text } of files) for (const key of used(text)) texts.set(key, path)

test('every text of the console has its Chinese', () => {
  expect(texts.size).toBeGreaterThan(300)
  const missing = [...texts].filter(([key]) => !(key in templates)).map(([key, path]) => `${path}: ${key}`)
  expect(missing).toEqual([])
})

test('no Chinese text is left of an English one that is gone', () => {
  expect(Object.keys(templates).filter(key => !texts.has(key))).toEqual([])
})

test('an English text has one Chinese text, wherever it is translated', async () => {
  const found = new Map<string, Map<string, string>>()
  for (const path of translations) {
    const exported: Record<string, Readonly<Record<string, string>>> = await import(join(ROOT, path))
    for (const [key, text] of Object.values(exported).flatMap(Object.entries<string>)) {
      const present = found.get(key) ?? new Map<string, string>()
      found.set(key, present.set(text, path))
    }
  }
  expect(found.size).toBeGreaterThan(1_000)
  expect([...found].filter(([, present]) => present.size > 1)).toEqual([])
})

test('a translation has the places of its text', () => {
  const places = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort()
  const wrong = Object.entries(templates).filter(([key, text]) => {
    const wanted = places(key)
    // Chinese has no plural: the number may be left out of neither form, but a form for one may lack it in English.
    return wanted.some(place => !text.includes(place)) || places(text).some(place => !wanted.includes(place))
  })
  expect(wrong.map(([key]) => key)).toEqual([])
})

test('texts are literals where they are called', () => {
  const open = files
    .filter(({ path }) => path !== 'ui/text/t.ts')
    .flatMap(({ path, text }) =>
      [...text.matchAll(/[^.\w]t\(\s*([^'"\s)][^,)]*)/g)].map(([, argument]) => `${path}: t(${argument}`),
    )
  expect(open).toEqual([])
})
