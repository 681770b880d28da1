import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { POINTS_TO_COME } from '../../../core/contract/points.ts'
import { readSources } from '../../support/source.ts'

const ROOT = join(import.meta.dir, '../../..')
const sources = readSources(ROOT, ['core'])

/** The names of `ExtensionPoints`, which as a type is not there at run time. */
function points(): string[] {
  const text = sources.find(file => file.path === 'core/contract/points.ts')?.text ?? ''
  const table = /export interface ExtensionPoints \{(.*?)\n\}/s.exec(text)?.[1] ?? ''
  return [...table.matchAll(/^ {2}(\w+):/gm)].map(match => match[1] ?? '')
}

test('every extension point is used by core, or stands on the list of those to come', () => {
  const all = points()
  expect(all).toContain('transport')
  const used = (point: string) => sources.some(file => file.text.includes(`contributions('${point}')`))
  expect(all.filter(point => !used(point)).sort()).toEqual([...POINTS_TO_COME].sort())
})

test('the page for authors names every point, those to come apart', () => {
  const [now = '', coming = ''] = readFileSync(join(ROOT, 'docs/plugins.md'), 'utf8').split('\nTo come')
  const later: readonly string[] = POINTS_TO_COME
  for (const point of points()) {
    const row = `| \`${point}\` |`
    expect([point, now.includes(row), coming.includes(row)]).toEqual([
      point,
      !later.includes(point),
      later.includes(point),
    ])
  }
})
