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
  for (let n = 1; n <= 100; n += 1) pace.told('a', 'uri', () => told.push(`${n}`) && 10)
  expect(told).toHaveLength(100)
  pace.dispose()
})

test('what costs too much waits, the newest of each key alone, and is told as soon as it is paid for; other servers do not wait', async () => {
  const { pace, told, pass } = paced()
  const tell = (text: string, cost: number) => () => {
    told.push(text)
    return cost
  }
  pace.told('a', 'x', tell('x1', 3_000))
  for (let n = 2; n <= 50; n += 1) {
    pace.told('a', 'x', tell(`x${n}`, 1))
    pace.told('a', 'y', tell(`y${n}`, 1))
  }
  expect(pace.waiting('a')).toBe(2)
  pace.told('b', 'x', tell('other', 1))
  expect(told).toEqual(['x1', 'other'])
  // The debt of 1,000 is paid after half a second.
  pass(499)
  pace.told('a', 'x', tell('x51', 1))
  expect(told).toEqual(['x1', 'other'])
  pass(2)
  await until(() => told.length === 4, { what: 'the rest to be told' })
  expect(told.slice(2)).toEqual(['x51', 'y50'])
  expect(pace.waiting('a')).toBe(0)
  pace.dispose()
})

test('nothing is told any more once it was disposed of', async () => {
  const { pace, told, pass } = paced()
  pace.told('a', 'x', () => 3_000)
  pace.told('a', 'x', () => told.push('late'))
  pace.dispose()
  pass(10_000)
  await Bun.sleep(60)
  expect(told).toEqual([])
})
