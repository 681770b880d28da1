import { expect, test } from 'bun:test'
import { StoringRest } from '../../../core/history/storing-rest.ts'

test.each([
  [1, 399],
  [2, 399],
  [3, 19],
])(
  'a twentieth of a processor is for storing; with %i, %i ms of rest for each one while a flood lasts',
  (processors, flooded) => {
    const rest = new StoringRest(processors)
    expect(rest.after(100_000, 0)).toBe(19)
    // Not looked at before a second is over.
    expect(rest.after(200_000, 999)).toBe(19)
    expect(rest.after(105_001, 1_000)).toBe(flooded)
    expect(rest.after(105_001, 1_500)).toBe(flooded)
    expect(rest.after(110_001, 2_000)).toBe(19)
    expect(rest.after(170_001, 12_000)).toBe(flooded)
    expect(rest.after(170_002, 13_000)).toBe(19)
  },
)
