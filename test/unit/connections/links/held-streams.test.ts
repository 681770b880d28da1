import { expect, test } from 'bun:test'
import { HeldStreams } from '../../../../core/connections/worker/links/held-streams.ts'

const UPDATED = 'notifications/resources/updated'

/** Two streams at a time, on which the same may come. */
function overlapping(): HeldStreams {
  const held = new HeldStreams()
  for (const id of [1, 2]) held.add(id, new Set(['a://']), 0)
  return held
}

test('a notice that comes on two streams is news once', () => {
  const held = overlapping()
  expect([1, 2, 1, 2].map(id => held.news(id, UPDATED, 'a://1', 0))).toEqual([true, false, true, false])
})

test('only a limited number of a server’s updates is remembered as sent: further ones are passed on each time', () => {
  const held = overlapping()
  const long = `a://${'x'.repeat(2_000)}`
  expect([1, 2].map(id => held.news(id, UPDATED, long, 0))).toEqual([true, true])
  for (let n = 0; n < 2_000; n += 1) held.news(1, UPDATED, `a://${n}`, 0)
  expect([1, 2].map(id => held.news(id, UPDATED, 'a://more', 0))).toEqual([true, true])
  expect(held.news(2, UPDATED, 'a://7', 0)).toBe(false)
})

test('a copy that comes when the older stream is due to end is no news', () => {
  const held = overlapping()
  expect(held.news(1, UPDATED, 'a://1', 499)).toBe(true)
  expect(held.expire(500)).toEqual([])
  expect(held.news(2, UPDATED, 'a://1', 501)).toBe(false)
  expect([held.expire(748), held.expire(749)]).toEqual([[], [1]])
  expect(held.news(2, UPDATED, 'a://1', 750)).toBe(true)
})

test('an older stream that always has something new ends all the same', () => {
  const held = overlapping()
  let nowMs = 0
  for (; held.expire(nowMs).length === 0 && nowMs < 10_000; nowMs += 100) held.news(1, UPDATED, `a://${nowMs}`, nowMs)
  expect(nowMs).toBe(2_000)
})
