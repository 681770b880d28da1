import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { SharedCache } from '../../../core/transport-kit/shared-cache.ts'
import { SharedQueue } from '../../../core/transport-kit/shared-queue.ts'

test('a SharedCache: who fills it loses the least recently used; what others hold stays', () => {
  const cache = new SharedCache<string, string>({ maxSize: 100 })
  for (let n = 0; n < 10; n += 1) cache.set('ann', `ann ${n}`, 'x')
  for (let n = 0; n < 10_000; n += 1) cache.set('eve', `eve ${n}`, 'x')
  expect(cache.count).toBe(100)
  for (let n = 0; n < 10; n += 1) expect(cache.get('ann', `ann ${n}`)).toBe('x')
  expect([cache.has('eve 9999'), cache.has('eve 9910'), cache.has('eve 9909')]).toEqual([true, true, false])
})

test('a SharedCache: a value that several use is stored once and stays while one of them has room', () => {
  const cache = new SharedCache<string, string>({ maxSize: 100, sizeOf: value => value.length })
  cache.set('eve', 'of both', 'x'.repeat(40))
  expect(cache.get('ann', 'of both')).toHaveLength(40)
  expect(cache.size).toBe(40)
  for (let n = 0; n < 50; n += 1) cache.set('eve', `eve ${n}`, 'x'.repeat(10))
  expect([cache.has('of both'), cache.size]).toEqual([true, 100])
  cache.delete('of both')
  expect(cache.size).toBe(60)
  cache.set('ann', 'too large', 'x'.repeat(101))
  expect([cache.has('too large'), cache.size]).toEqual([false, 60])
})

test('a SharedCache is never larger than its limit, and its size is that of what it holds', () => {
  const step = fc.record({
    ...{ who: fc.constantFrom('a', 'b', 'c'), key: fc.nat(30), length: fc.nat(40) },
    act: fc.constantFrom('set', 'set', 'get', 'delete'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const cache = new SharedCache<number, string>({ maxSize: 200, sizeOf: value => value.length + 1 })
      for (const { who, key, length, act } of steps) {
        if (act === 'set') cache.set(who, key, 'x'.repeat(length))
        else if (act === 'get') cache.get(who, key)
        else cache.delete(key)
        const values = [...cache.entries()]
        expect(values.reduce((sum, [, { value }]) => sum + value.length + 1, 0)).toBe(cache.size)
        expect(cache.size).toBeLessThanOrEqual(200)
      }
      cache.clear()
      expect([cache.size, cache.count]).toEqual([0, 0])
    }),
    { numRuns: 300 },
  )
})

test('a SharedQueue: the holder of most loses its oldest, and each loss is reported', () => {
  const lost: string[] = []
  const queue = new SharedQueue<string>({ maxCount: 10, maxBytes: 1_000 }, (item, holder) =>
    lost.push(`${holder} ${item}`),
  )
  queue.add('ann', 'first', 1)
  for (let n = 0; n < 12; n += 1) queue.add('eve', String(n), 1)
  queue.add('ben', 'large', 995)
  expect(lost).toEqual(['eve 0', 'eve 1', 'eve 2', 'ben large'])
  expect([...queue.items()]).toEqual(['first', '3', '4', '5', '6', '7', '8', '9', '10', '11'])
})
