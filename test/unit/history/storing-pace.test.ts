import { expect, test } from 'bun:test'
import { StoringPace } from '../../../core/history/storing-pace.ts'

const USUAL = { rest: 19, batch: 150 }
const SLOW = { rest: 399, batch: 30 }

test.each([
  [1, SLOW],
  [2, SLOW],
  [3, USUAL],
])('a twentieth of a processor is for storing; with %i, while a flood lasts: %o', (processors, flooded) => {
  const pace = new StoringPace(150, processors)
  const at = (arrived: number, nowMs: number) => ({ rest: pace.restAfter(arrived, nowMs), batch: pace.batch })
  expect(pace.batch).toBe(150)
  expect(at(100_000, 0)).toEqual(USUAL)
  // Not looked at before a second is over.
  expect(at(200_000, 999)).toEqual(USUAL)
  expect(at(105_001, 1_000)).toEqual(flooded)
  expect(at(105_001, 1_500)).toEqual(flooded)
  expect(at(110_001, 2_000)).toEqual(USUAL)
  expect(at(170_001, 12_000)).toEqual(flooded)
  expect(at(170_002, 13_000)).toEqual(USUAL)
})
