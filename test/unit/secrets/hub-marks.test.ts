import { expect, test } from 'bun:test'
import type { HubError } from '../../../core/contract/errors.ts'
import { HubMarks, MOST_MARKS, marksOf } from '../../../core/secrets/hub-marks.ts'

const marks = new HubMarks('key')
const verdict = (header: string | null) => {
  try {
    marks.validate(header)
    return 'passes'
  } catch (error) {
    return (error as HubError).code
  }
}

test('check() knows its own marks, whichever, wherever they stand, and nobody else’s', () => {
  const own = marks.make()
  const foreign = new HubMarks('other').make()
  expect(marks.make()).not.toBe(own)
  expect(own).toMatch(/^[\w-]{20}$/)
  for (const chain of [own, `${foreign}, ${own}`, `${own},${foreign}`, `  x  ${own}\t`])
    expect([chain, verdict(chain)]).toEqual([chain, 'loop_detected'])
  const cut = own.slice(0, -1)
  const turned = `${own[0] === 'A' ? 'B' : 'A'}${own.slice(1)}`
  for (const chain of [null, '', foreign, cut, turned, `${own}x`, 'ü'.repeat(20), 'x'.repeat(100_000)])
    expect(verdict(chain)).toBe('passes')
  expect(new HubMarks('key').isOwn(own)).toBe(true)
})

test('check() refuses a chain of more hubs than anybody means', () => {
  const chain = (length: number) => Array.from({ length }, (_, at) => `hub-${at}`).join(', ')
  expect(verdict(chain(MOST_MARKS))).toBe('passes')
  expect(verdict(chain(MOST_MARKS + 1))).toBe('loop_detected')
})

test('marksOf() takes what can be a mark out of whatever a list says', () => {
  const meta = (value: unknown) => marksOf({ 'patchbay/instances': value })
  expect(meta(['a', 1, null, 'b c', 'd'.repeat(65), 'e'])).toEqual(['a', 'e'])
  expect(meta(Array(40).fill('a'))).toHaveLength(MOST_MARKS)
  for (const nothing of [undefined, 'a', { a: 1 }]) expect(meta(nothing)).toEqual([])
  for (const nothing of [undefined, null, 'x', []]) expect(marksOf(nothing)).toEqual([])
})
