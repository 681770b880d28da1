import { expect, test } from 'bun:test'
import { NotificationRateLimiter } from '../../../core/mcp/changes/notification-rate-limiter.ts'
import { until } from '../../support/wait.ts'

/** A pace by a clock that only the test moves on. */
function paced(): { readonly pace: NotificationRateLimiter; readonly schedule: string[]; pass(ms: number): void } {
  let nowMs = 0
  return {
    pace: new NotificationRateLimiter(() => nowMs),
    schedule: [],
    pass: ms => {
      nowMs += ms
    },
  }
}

test('an update is told at once, and so is each of several in a row, as long as few hear them', () => {
  const { pace, schedule } = paced()
  for (let n = 1; n <= 100; n += 1) pace.schedule('a', 'uri', () => schedule.push(`${n}`) && 10)
  expect(schedule).toHaveLength(100)
  pace.dispose()
})

test('what costs too much waits, the newest of each key alone, and is told as soon as it is paid for; other servers do not wait', async () => {
  const { pace, schedule, pass } = paced()
  const send = (text: string, cost: number) => () => {
    schedule.push(text)
    return cost
  }
  pace.schedule('a', 'x', send('x1', 3_000))
  for (let n = 2; n <= 50; n += 1) {
    pace.schedule('a', 'x', send(`x${n}`, 1))
    pace.schedule('a', 'y', send(`y${n}`, 1))
  }
  expect(pace.waiting('a')).toBe(2)
  pace.schedule('b', 'x', send('other', 1))
  expect(schedule).toEqual(['x1', 'other'])
  // The debt of 1,000 is paid after half a second.
  pass(499)
  pace.schedule('a', 'x', send('x51', 1))
  expect(schedule).toEqual(['x1', 'other'])
  pass(2)
  await until(() => schedule.length === 4, { what: 'the rest to be told' })
  expect(schedule.slice(2)).toEqual(['x51', 'y50'])
  expect(pace.waiting('a')).toBe(0)
  pace.dispose()
})

test('nothing is told any more once it was disposed of', async () => {
  const { pace, schedule, pass } = paced()
  pace.schedule('a', 'x', () => 3_000)
  pace.schedule('a', 'x', () => schedule.push('late'))
  pace.dispose()
  pass(10_000)
  await Bun.sleep(60)
  expect(schedule).toEqual([])
})
