import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSources } from '../../support/source.ts'

const ROOT = join(import.meta.dir, '../../..')
const sources = readSources(ROOT, ['core', 'plugins'])

/** The names of `ExtensionPoints`, which as a type is not there at run time. */
function points(): string[] {
  const text = sources.find(file => file.path === 'core/contract/points.ts')?.text ?? ''
  const table = /export interface ExtensionPoints \{(.*?)\n\}/s.exec(text)?.[1] ?? ''
  return [...table.matchAll(/^ {2}(\w+):/gm)].map(match => match[1] ?? '')
}

test('every extension point is used by core or a bundled plugin', () => {
  const all = points()
  expect(all).toContain('transport')
  // The plugin host keeps some contributions itself, such as pages of the console, and nothing asks it for them.
  const marks = (point: string) => [`contributions('${point}')`, `point === '${point}'`]
  const used = (point: string) => sources.some(file => marks(point).some(mark => file.text.includes(mark)))
  expect(all.filter(point => !used(point))).toEqual([])
})

test('the page for authors names every point', () => {
  const page = readFileSync(join(ROOT, 'docs/plugins.md'), 'utf8')
  expect(points().filter(point => !page.includes(`| \`${point}\` |`))).toEqual([])
})
