import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { GrowingBytes } from '../../../core/domain/growing-bytes.ts'

test('GrowingBytes gives back what was appended, in whatever pieces, also beyond its size and after it was cleared', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 20 })
  fc.assert(
    fc.property(pieces, pieces, fc.nat(100_000), (before, after, mostBytes) => {
      const bytes = new GrowingBytes(mostBytes)
      for (const round of [before, after]) {
        for (const piece of round) bytes.append(piece)
        expect(bytes.length).toBe(round.reduce((sum, piece) => sum + piece.length, 0))
        expect(bytes.bytes().equals(Buffer.concat(round))).toBe(true)
        bytes.clear()
        expect(bytes.length).toBe(0)
      }
    }),
  )
})

test('GrowingBytes keeps a copy, since the memory of a piece may be used again', () => {
  const bytes = new GrowingBytes(100)
  const piece = Buffer.from('ab')
  bytes.append(piece)
  piece.fill('x')
  expect(bytes.bytes().toString()).toBe('ab')
})
