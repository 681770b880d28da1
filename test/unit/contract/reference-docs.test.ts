import { expect, test } from 'bun:test'
import { referencePages, variableNames } from '../../support/reference-docs.ts'

const folder = new URL('../../../docs/reference/', import.meta.url)

for (const [name, text] of Object.entries(referencePages())) {
  test(`docs/reference/${name} says what the code says (bun test/support/reference-docs.ts writes it)`, async () => {
    expect(await Bun.file(new URL(name, folder)).text()).toBe(text)
  })
}

test('docs/reference/environment.md lists every variable, and none that does not exist', async () => {
  const page = await Bun.file(new URL('environment.md', folder)).text()
  const listed = [...page.matchAll(/^\| `([A-Z_]+)`/gm)].map(match => match[1]!)
  expect(listed.toSorted()).toEqual([...variableNames()].toSorted())
})
