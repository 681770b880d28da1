import { expect, test } from 'bun:test'
import { StoringPace } from '../../../plugins/log-database/storing-pace.ts'

const USUAL = { rest: 19, batch: 2_000 }
const SLOW = { rest: 799, batch: 400 }

test.each([
  [1, SLOW],
  [2, SLOW],
  [3, USUAL],
])('a twentieth of a processor is for storing; with %i, while a flood lasts: %o', (processors, flooded) => {
  const pace = new StoringPace(2_000, processors)
  const at = (arrived: number, nowMs: number) => ({ rest: pace.restAfter(arrived, nowMs), batch: pace.batch })
  expect(pace.batch).toBe(2_000)
  expect(at(100_000, 0)).toEqual(USUAL)
  // The pace is not checked before a second is over.
  expect(at(200_000, 999)).toEqual(USUAL)
  expect(at(105_001, 1_000)).toEqual(flooded)
  expect(at(105_001, 1_500)).toEqual(flooded)
  expect(at(110_001, 2_000)).toEqual(USUAL)
  expect(at(170_001, 12_000)).toEqual(flooded)
  expect(at(170_002, 13_000)).toEqual(USUAL)
})

test('a batch that is small anyway is the same in a flood', () => {
  const pace = new StoringPace(150, 1)
  pace.restAfter(0, 0)
  expect([pace.restAfter(100_000, 1_000), pace.batch]).toEqual([799, 150])
})
