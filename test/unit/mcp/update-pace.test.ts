import { expect, test } from 'bun:test'
import { UpdatePace } from '../../../core/mcp/changes/update-pace.ts'
import { until } from '../../support/wait.ts'

/** A pace by a clock that only the test moves on. */
function paced(): { readonly pace: UpdatePace; readonly told: string[]; pass(ms: number): void } {
  let nowMs = 0
  return {
    pace: new UpdatePace(() => nowMs),
    told: [],
    pass: ms => {
      nowMs += ms
    },
  }
}

test('an update is told at once, and so is each of several in a row, as long as few hear them', () => {
  const { pace, told } = paced()
  for (let n = 1; n <= 100; n += 1) pace.told('a', 'uri', { tell: () => told.push(`${n}`) && 10, bytes: 0 })
  expect(told).toHaveLength(100)
  pace.dispose()
})

test('what costs too much waits, the newest of each key alone, and is told as soon as it is paid for; other servers do not wait', async () => {
  const { pace, told, pass } = paced()
  const tell = (text: string, cost: number) => ({
    tell: () => {
      told.push(text)
      return cost
    },
    bytes: 1_000,
  })
  pace.told('a', 'x', tell('x1', 3_000))
  for (let n = 2; n <= 50; n += 1) {
    pace.told('a', 'x', tell(`x${n}`, 1))
    pace.told('a', 'y', tell(`y${n}`, 1))
  }
  pace.told('b', 'x', tell('other', 1))
  expect(told).toEqual(['x1', 'other'])
  // The debt of 1,000 is paid after half a second.
  pass(499)
  pace.told('a', 'x', tell('x51', 1))
  expect(told).toEqual(['x1', 'other'])
  pass(2)
  await until(() => told.length === 4, { what: 'the rest to be told' })
  expect(told.slice(2)).toEqual(['x51', 'y50'])
  pace.dispose()
})

test('nothing is told any more once it was disposed of', async () => {
  const { pace, told, pass } = paced()
  pace.told('a', 'x', { tell: () => 3_000, bytes: 0 })
  pace.told('a', 'x', { tell: () => told.push('late'), bytes: 0 })
  pace.dispose()
  pass(10_000)
  await Bun.sleep(60)
  expect(told).toEqual([])
})

test('what waits for itself has at most 1,000 updates and 256 KiB of each server, and those that were told make room', async () => {
  const { pace, told, pass } = paced()
  const update = (bytes: number, cost = 1) => ({ tell: () => told.push('told') * 0 + cost, bytes })
  pace.told('a', 'first', update(0, 3_000))
  for (let n = 1; n <= 4; n += 1) pace.told('a', `${n}`, update(60 * 1024))
  expect(['a', 'b'].map(server => pace.takes(server, 17 * 1024))).toEqual([false, true])
  expect(pace.takes('a', 16 * 1024)).toBe(true)
  // The newer one takes the older one's place.
  pace.told('a', '4', update(1024))
  expect(pace.takes('a', 60 * 1024)).toBe(true)
  for (let n = 5; n <= 1_000; n += 1) pace.told('a', `${n}`, update(0))
  expect(pace.takes('a', 1)).toBe(false)
  pass(2_000)
  await until(() => told.length === 1_001, { what: 'the rest to be told' })
  expect(pace.takes('a', 256 * 1024)).toBe(true)
  pace.dispose()
})
