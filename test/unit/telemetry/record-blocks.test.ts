import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { linesOf, RecordBlocks } from '../../../core/telemetry/record-blocks.ts'

test('records come out as they went in, whatever their length and script and however many are dropped or taken between', () => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    // Several blocks long, and more bytes than characters.
    fc.nat({ max: 250_000 }).map(length => '超'.repeat(length)),
  )
  const step = fc.oneof(
    fc.record({ push: fc.array(line, { maxLength: 5 }) }),
    fc.record({ take: fc.nat({ max: 8 }) }),
    fc.record({ within: fc.nat({ max: 60_000 }) }),
    fc.record({ drop: fc.nat({ max: 3 }) }),
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
        } else if ('within' in each) {
          const taken = blocks.takeBlock(each.within)
          const expected = model.splice(0, taken?.count ?? 0)
          expect(taken === undefined).toBe(pushed === 0 || expected.length === 0)
          expect(new TextDecoder().decode(taken?.bytes)).toBe(expected.map(one => one.line).join(''))
          if (expected.length > 1) expect(taken!.bytes.length).toBeLessThanOrEqual(each.within)
          taken?.giveBack()
        } else {
          for (let n = 0; n < each.drop; n += 1) blocks.dropOldest()
          model.splice(0, each.drop)
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
  blocks.dropOldest()
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
