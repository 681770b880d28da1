import { expect, test } from 'bun:test'
import { TimeTexts } from '../../../core/domain/timestamp.ts'

test('a time is written as Date writes it, whatever time was asked for before', () => {
  const times = new TimeTexts()
  const asked = [0, 0.4, 1_000.999, 1_000, 1_767_225_600_000.25, 1_767_225_600_001, 1_767_225_600_000, -0.5, -1.5]
  for (const ms of asked) expect(times.of(ms)).toBe(new Date(ms).toISOString())
})

test('an invalid time throws, and the next time is right again', () => {
  const times = new TimeTexts()
  expect(() => times.of(Number.NaN)).toThrow(RangeError)
  expect(times.of(1_000)).toBe('1970-01-01T00:00:01.000Z')
})
