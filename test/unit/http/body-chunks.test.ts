import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { bytesOf, ChunkList, joined } from '../../../core/http/body/chunks.ts'

test('a body is joined as it came, whatever its chunks are', async () => {
  const sizes = fc.array(fc.oneof(fc.nat(9), fc.nat(20_000), fc.constantFrom(8_191, 8_192, 65_536)), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(sizes, async all => {
      const list = new ChunkList()
      const whole: number[] = []
      for (const [at, size] of all.entries()) {
        const chunk = Uint8Array.from({ length: size }, (_, n) => (n + at) % 251)
        whole.push(...chunk)
        list.push(chunk)
        // The runtime may use the memory of a chunk again.
        if (size < 8_192) chunk.fill(255)
      }
      const chunks = list.end()
      expect(bytesOf(chunks)).toBe(whole.length)
      expect(chunks.every(({ byteLength }) => byteLength > 0)).toBe(true)
      expect(Buffer.from(await joined(chunks)).equals(Buffer.from(whole))).toBe(true)
    }),
    { numRuns: 60 },
  )
})

test('a megabyte in single bytes is held in 16 chunks', () => {
  const list = new ChunkList()
  for (let at = 0; at < 1_048_576; at += 1) list.push(Uint8Array.of(at % 256))
  const chunks = list.end()
  expect([chunks.length, bytesOf(chunks)]).toEqual([16, 1_048_576])
})
