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
  expect([1, 2, 1, 2].map(id => held.news(id, UPDATED, 'a://1'))).toEqual([true, false, true, false])
})

test('of what a server makes up only so much is kept to tell that: the rest is told as often as it comes', () => {
  const held = overlapping()
  const long = `a://${'x'.repeat(2_000)}`
  expect([1, 2].map(id => held.news(id, UPDATED, long))).toEqual([true, true])
  for (let n = 0; n < 2_000; n += 1) held.news(1, UPDATED, `a://${n}`)
  expect([1, 2].map(id => held.news(id, UPDATED, 'a://more'))).toEqual([true, true])
  expect(held.news(2, UPDATED, 'a://7')).toBe(false)
})
