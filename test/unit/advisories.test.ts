import { expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const ID = /(?:CVE-\d{4}-\d{4,}|GHSA(?:-[0-9a-z]{4}){3})(?![\w-])/g
/** Ids are in brackets at the end of a title. */
const TITLE_END = /\[((?:(?:CVE|GHSA)-[\w-]+ ?)+)\]['"`]/g

/** `id file` of every test title that carries an id. */
async function titles(): Promise<string[]> {
  const found: string[] = []
  for (const name of await readdir(join(ROOT, 'test'), { recursive: true })) {
    if (!name.endsWith('.test.ts')) continue
    const text = await readFile(join(ROOT, 'test', name), 'utf8')
    for (const [, ids = ''] of text.matchAll(TITLE_END))
      for (const id of ids.split(' ')) found.push(`${id} test/${name}`)
  }
  return [...new Set(found)].toSorted()
}

test('each published fault of docs/reference/advisories.md has its tests, and no test names one that is not there', async () => {
  const page = await readFile(join(ROOT, 'docs/reference/advisories.md'), 'utf8')
  const rows = page.split('\n').filter(line => /^\| (?:CVE|GHSA)/.test(line))
  const listed = rows.map(row => {
    const [, ids = '', , tests = ''] = row.split(' | ').join('|').split('|')
    return { ids: ids.match(ID) ?? [], files: [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file), tests }
  })
  expect(listed.length).toBeGreaterThan(20)
  expect(listed.filter(({ files, tests }) => files.length === 0 && !tests.startsWith('none: '))).toEqual([])
  const wanted = listed.flatMap(({ ids, files }) => files.flatMap(file => ids.map(id => `${id} ${file}`)))
  expect(await titles()).toEqual([...new Set(wanted)].toSorted())
})
