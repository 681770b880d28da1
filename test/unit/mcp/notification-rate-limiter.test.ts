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

test('an update is sent at once, and so is each of several in a row, as long as few receive them', () => {
  const { pace, schedule } = paced()
  for (let n = 1; n <= 100; n += 1) pace.schedule('a', 'uri', { send: () => schedule.push(`${n}`) && 10, bytes: 0 })
  expect(schedule).toHaveLength(100)
  pace.dispose()
})

test('an update that costs too much waits, only the newest of each key, and is sent as soon as it is paid for; other servers do not wait', async () => {
  const { pace, schedule, pass } = paced()
  const send = (text: string, cost: number) => ({
    send: () => {
      schedule.push(text)
      return cost
    },
    bytes: 1_000,
  })
  pace.schedule('a', 'x', send('x1', 3_000))
  for (let n = 2; n <= 50; n += 1) {
    pace.schedule('a', 'x', send(`x${n}`, 1))
    pace.schedule('a', 'y', send(`y${n}`, 1))
  }
  pace.schedule('b', 'x', send('other', 1))
  expect(schedule).toEqual(['x1', 'other'])
  // The debt of 1,000 is paid after half a second.
  pass(499)
  pace.schedule('a', 'x', send('x51', 1))
  expect(schedule).toEqual(['x1', 'other'])
  pass(2)
  await until(() => schedule.length === 4, { what: 'the rest to be told' })
  expect(schedule.slice(2)).toEqual(['x51', 'y50'])
  pace.dispose()
})

test('nothing is sent after it was disposed of', async () => {
  const { pace, schedule, pass } = paced()
  pace.schedule('a', 'x', { send: () => 3_000, bytes: 0 })
  pace.schedule('a', 'x', { send: () => schedule.push('late'), bytes: 0 })
  pace.dispose()
  pass(10_000)
  await Bun.sleep(60)
  expect(schedule).toEqual([])
})

test('at most 1,000 updates and 256 KiB of each server wait, and sent ones make room', async () => {
  const { pace, schedule, pass } = paced()
  const update = (bytes: number, cost = 1) => ({ send: () => schedule.push('told') * 0 + cost, bytes })
  pace.schedule('a', 'first', update(0, 3_000))
  for (let n = 1; n <= 4; n += 1) pace.schedule('a', `${n}`, update(60 * 1024))
  expect(['a', 'b'].map(server => pace.takes(server, 17 * 1024))).toEqual([false, true])
  expect(pace.takes('a', 16 * 1024)).toBe(true)
  // The newer one takes the older one's place.
  pace.schedule('a', '4', update(1024))
  expect(pace.takes('a', 60 * 1024)).toBe(true)
  for (let n = 5; n <= 1_000; n += 1) pace.schedule('a', `${n}`, update(0))
  expect(pace.takes('a', 1)).toBe(false)
  pass(2_000)
  await until(() => schedule.length === 1_001, { what: 'the rest to be told' })
  expect(pace.takes('a', 256 * 1024)).toBe(true)
  pace.dispose()
})
