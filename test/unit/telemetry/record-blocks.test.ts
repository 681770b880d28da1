import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { linesOf, RecordBlocks } from '../../../core/telemetry/record-blocks.ts'

test('records come out as they went in, whatever their length and script and however many are taken between', () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    // Several blocks long, and more bytes than characters.
    fc.nat({ max: 250_000 }).map(length => '超'.repeat(length)),
  )
  const step = fc.oneof(
    fc.record({ push: fc.array(line, { maxLength: 5 }) }),
    fc.record({ take: fc.nat({ max: 8 }) }),
    fc.record({ within: fc.nat({ max: 60_000 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const blocks = new RecordBlocks()
      const model: { readonly line: string; readonly readers: string }[] = []
      let pushed = 0
      for (const each of steps) {
        if ('push' in each) {
          for (const text of each.push) {
            pushed += 1
            blocks.push(text, `u${pushed}`)
            model.push({ line: text, readers: `u${pushed}` })
          }
        } else if ('take' in each) {
          const batch = blocks.take(each.take)
          const expected = model.splice(0, each.take)
          expect(linesOf(batch)).toEqual(expected.map(one => one.line))
          expect(batch.readers).toEqual(expected.map(one => one.readers))
        } else {
          const taken = blocks.takeBlock(each.within)
          const expected = model.splice(0, taken?.count ?? 0)
          expect(taken === undefined).toBe(pushed === 0 || expected.length === 0)
          expect(new TextDecoder().decode(taken?.bytes)).toBe(expected.map(one => one.line).join(''))
          if (expected.length > 1) expect(taken!.bytes.length).toBeLessThanOrEqual(each.within)
          taken?.giveBack()
        }
        expect(blocks.count).toBe(model.length)
        expect(blocks.bytes).toBe(model.reduce((sum, one) => sum + Buffer.byteLength(one.line), 0))
      }
    }),
    { numRuns: 300 },
  )
})

test('a block that was taken whole is not written on before it is given back, and then used again', () => {
  const blocks = new RecordBlocks()
  blocks.push('first\n', '')
  blocks.push('second\n', '')
  blocks.take(1)
  const taken = blocks.takeBlock()!
  expect([taken.count, blocks.count, blocks.bytes]).toEqual([1, 0, 0])
  blocks.push('third\n', '')
  expect(new TextDecoder().decode(taken.bytes)).toBe('second\n')
  taken.giveBack()
  blocks.take(1)
  expect(blocks.takeBlock()).toBeUndefined()
  // Two that do not fit into one block.
  const long = ['x', 'y'].map(letter => letter.repeat(215_000))
  for (const line of long) blocks.push(line, '')
  const both = long.map(() => blocks.takeBlock()!)
  expect(both.map(({ bytes }) => new TextDecoder().decode(bytes))).toEqual(long)
  expect(both.filter(({ bytes }) => bytes.buffer === taken.bytes.buffer)).toHaveLength(1)
})

const LIMITS = { maxCount: 40, maxBytes: 4_000 }
const whoOf = (line: string): string => line.split(' ')[0] ?? ''

test('a full queue stays within its limits, keeps each holder’s order, and the largest holder loses', () => {
  const step = fc.oneof(
    {
      weight: 20,
      arbitrary: fc.record({ who: fc.constantFrom('a', 'a', 'a', 'a', 'b', 'c'), length: fc.nat({ max: 300 }) }),
    },
    { weight: 1, arbitrary: fc.record({ take: fc.nat({ max: 30 }) }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), steps => {
      const blocks = new RecordBlocks(LIMITS)
      const out: string[] = []
      let pushed = 0
      for (const each of steps) {
        if ('who' in each) {
          pushed += 1
          blocks.push(`${each.who} ${pushed} ${'x'.repeat(each.length)}`, each.who, each.who)
        } else {
          const batch = blocks.take(each.take)
          expect(batch.readers.map(String)).toEqual(linesOf(batch).map(whoOf))
          out.push(...linesOf(batch))
        }
        expect(blocks.count).toBeLessThanOrEqual(LIMITS.maxCount)
        expect(blocks.bytes).toBeLessThanOrEqual(LIMITS.maxBytes)
      }
      out.push(...linesOf(blocks.take(1_000)))
      expect([blocks.count, blocks.bytes]).toEqual([0, 0])
      expect(out.length + blocks.dropped).toBe(pushed)
      expect(blocks.losses().reduce((sum, { dropped }) => sum + dropped, 0)).toBe(blocks.dropped)
      const numbers = out.map(line => Number(line.split(' ')[1]))
      expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
    }),
    { numRuns: 300 },
  )
})

test('the one who fills a queue loses first, wherever the records of others lie', () => {
  for (const early of [0, 3]) {
    const blocks = new RecordBlocks({ maxCount: 1_000, maxBytes: 1_000_000 })
    for (let n = 0; n < early; n += 1) blocks.push(`few ${n}`, '', 'few')
    for (let n = 0; n < 5_000; n += 1) {
      blocks.push(`flood ${n}`, '', 'flood')
      if (n % 100 === 0) blocks.push(`few late ${n}`, '', 'few')
    }
    // The queue is full already: each of these takes the place of a record of the flood.
    for (let n = 0; n < 300; n += 1) blocks.push(`other ${n}`, '', `other ${n % 30}`)
    expect(blocks.losses().map(({ id }) => id)).toEqual(['flood'])
    const lines = linesOf(blocks.take(2_000))
    expect(lines.filter(line => line.startsWith('few'))).toHaveLength(early + 50)
    expect(lines.filter(line => line.startsWith('other'))).toHaveLength(300)
  }
})
