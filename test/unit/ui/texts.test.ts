import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { templates } from '../../../ui/locales/zh/mod.ts'

const UI = join(import.meta.dir, '../../../ui')
const files = readdirSync(UI, { recursive: true, encoding: 'utf8' })
  .filter(
    path =>
      path.endsWith('.ts') && !path.startsWith('dist') && !path.startsWith('locales') && !path.startsWith('build'),
  )
  .map(path => ({ path, text: readFileSync(join(UI, path), 'utf8') }))

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
    .filter(({ path }) => path !== 'text/t.ts')
    .flatMap(({ path, text }) =>
      [...text.matchAll(/[^.\w]t\(\s*([^'"\s)][^,)]*)/g)].map(([, argument]) => `${path}: t(${argument}`),
    )
  expect(open).toEqual([])
})
