/** Ordinary texts: the paragraphs of what the packages of the hub say of themselves, and of the hub's own documentation. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { check } from '../../../plugins/guards/check/check.ts'
import { compile } from '../../../plugins/guards/check/compile.ts'

const ROOT = join(import.meta.dir, '../../..')
const SHORTEST = 40

function corpus(): readonly string[] {
  const found = ['docs', 'node_modules'].flatMap(folder =>
    [...new Bun.Glob('**/*.md').scanSync({ cwd: join(ROOT, folder) })].map(path => join(ROOT, folder, path)),
  )
  return found
    .flatMap(path => readFileSync(path, 'utf8').split(/\n\s*\n/))
    .map(text => text.trim())
    .filter(text => text.length >= SHORTEST)
}

test('at most 1 in 1,000 is touched', () => {
  const rules = [
    compile({ id: 'secrets', match: { secrets: true }, then: 'mask' }),
    compile({ id: 'numbers', match: { personal: ['phone', 'card', 'iban', 'chinese_id'] }, then: 'mask' }),
    compile({ id: 'addresses', match: { personal: ['email'] }, then: 'mask' }),
  ]
  const texts = corpus()
  const touched = [0, 0, 0]
  let wrongAddresses = 0
  for (const text of texts) {
    const { findings } = check(JSON.stringify({ content: [{ type: 'text', text }] }), rules)
    for (const at of Object.keys(findings)) touched[Number(at)] = (touched[Number(at)] ?? 0) + 1
    // The authors of packages name their addresses: these are what the rule is for.
    if (findings[2] && !/\w@[\w-]+\.\w/.test(text)) wrongAddresses += 1
  }
  console.log(`${texts.length} texts: secrets in ${touched[0]}, numbers in ${touched[1]}, e-mail in ${touched[2]}`)
  expect(texts.length).toBeGreaterThan(10_000)
  expect(touched[0]).toBeLessThanOrEqual(texts.length / 1_000)
  expect(touched[1]).toBeLessThanOrEqual(texts.length / 1_000)
  expect(wrongAddresses).toBe(0)
}, 120_000)

test('at most 1 in 1,000 lists of ordinary texts, and of ordinary objects, is touched', () => {
  const rules = [compile({ id: 'secrets', match: { secrets: true }, then: 'mask' })]
  const isTouched = (value: unknown) =>
    check(JSON.stringify({ structuredContent: { value } }), rules).changed !== undefined
  const lists = corpus().map(text => text.split(/[\s|,"'`]+/))
  const objects = [...new Bun.Glob('node_modules/**/package.json').scanSync({ cwd: ROOT })].map(path =>
    readFileSync(join(ROOT, path), 'utf8'),
  )
  const words = lists.filter(isTouched).length
  const packages = objects.filter(text => isTouched({ text }) || isTouched(JSON.parse(text))).length
  console.log(`${lists.length} lists: ${words} touched; ${objects.length} objects: ${packages} touched`)
  expect(objects.length).toBeGreaterThan(100)
  expect(words).toBeLessThanOrEqual(lists.length / 1_000)
  expect(packages).toBeLessThanOrEqual(objects.length / 1_000)
}, 120_000)
