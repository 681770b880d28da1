import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../core/contract/json.ts'
import { canonical } from '../../../core/domain/json/canonical-json.ts'
import { exportHash, jsonParts } from '../../../core/moving/json-pieces.ts'

const CHARACTERS = 140_000
/** Contents that are light, or heavy in each way: by a long text, by many values, in depth. */
const CONTENTS: Readonly<Record<string, JsonObject>> = {
  empty: {},
  light: { b: 1, a: [null, true, { d: 'x', c: {} }], '"': '\n' },
  'a long text': { z: 'a"\\\n'.repeat(CHARACTERS / 4), a: 1 },
  // Each cut of an even number of characters would part one of these pairs.
  'a long text of pairs': { text: `x${'😀'.repeat(CHARACTERS / 2)}` },
  'a long text of halves': { text: `${'\ud83d'.repeat(CHARACTERS)}` },
  'many values': { z: Array.from({ length: 5_000 }, (_, at) => ({ b: at, a: [at] })), a: [] },
  'heavy below': { a: { b: { c: { d: { e: { f: 'y'.repeat(CHARACTERS), e: Array(5_000).fill('ü') } } } } } },
}

test.each(Object.entries(CONTENTS))('the pieces of a content that is %s are its JSON text', async (_, content) => {
  expect((await jsonParts(content)).toString()).toBe(JSON.stringify(content))
  expect(await exportHash(content)).toBe(createHash('sha256').update(canonical(content)).digest('hex'))
})

test('a content of megabytes may be interrupted after each piece of it', async () => {
  const paths = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`/p${at}`, 'd'.repeat(50_000)]))
  let pauses = 0
  const text = await jsonParts({ text: JSON.stringify(paths), deep: { schema: { paths } } }, async () => {
    pauses += 1
  })
  // One text of 64 KiB at most, or one member, between two pauses: whether they end a turn is a matter of time.
  expect(pauses).toBeGreaterThanOrEqual(text.toString().length / (64 * 1024))
})
