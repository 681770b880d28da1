import { expect, test } from 'bun:test'
import { createPace, paced } from '../../../core/outbound/pace.ts'

test('createPace() lets a burst pass, then makes what comes wait for its share', () => {
  const pace = createPace(1_000_000)
  // 50 ms of the rate are free after a rest.
  expect(pace(40_000)).toBe(0)
  // Less what has passed of them meanwhile.
  expect(pace(1_010_000)).toBeWithin(800, 1_001)
  expect(pace(1_000_000)).toBeWithin(1_500, 2_001)
})

test('paced() streams that share a pace take their time together, and pass on every byte in order', async () => {
  const pace = createPace(1_000_000)
  const since = performance.now()
  const carry = async (mark: number): Promise<Buffer> => {
    const stream = paced(pace)
    for (let count = 0; count < 10; count += 1) stream.write(Buffer.alloc(15_000, mark + count))
    stream.end()
    return Buffer.concat(await stream.toArray())
  }
  const carried = await Promise.all([carry(0), carry(100)])
  for (const [index, bytes] of carried.entries()) {
    const expected = Array.from({ length: 10 }, (_, count) => Buffer.alloc(15_000, index * 100 + count))
    expect(bytes.equals(Buffer.concat(expected))).toBe(true)
  }
  // 300,000 bytes less the burst.
  expect(performance.now() - since).toBeGreaterThan(240)
})
