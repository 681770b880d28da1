import { expect, test } from 'bun:test'
import { ServerAskTrials } from '../../../core/connections/probe/ask-trials.ts'

const asks = { elicitation: {} }

test('a caller is tried with a tool that has not answered one who can be asked, and is not moved afterwards', () => {
  const trials = new ServerAskTrials(() => true)
  trials.place({ id: 'a', capabilities: asks }, 'tool')
  trials.answered(asks, 'tool')
  trials.place({ id: 'b', capabilities: asks }, 'tool')
  trials.place({ id: 'c', capabilities: { elicitation: {}, roots: {} } }, 'tool')
  expect(['a', 'b', 'c', 'd'].map(id => trials.has(id))).toEqual([true, false, true, false])
  trials.place({ id: 'a', capabilities: asks }, 'tool')
  trials.place({ id: 'b', capabilities: asks }, 'other')
  expect([trials.has('a'), trials.has('b')]).toEqual([true, false])
})

test('a caller is placed anew after ten minutes without a call, and callers that are gone take no memory', () => {
  let now = 0
  const trials = new ServerAskTrials(
    () => true,
    () => now,
  )
  trials.place({ id: 'a', capabilities: asks }, 'tool')
  now = 9 * 60_000
  trials.place({ id: 'a', capabilities: asks }, 'tool')
  trials.answered(asks, 'tool')
  now += 9 * 60_000
  expect(trials.has('a')).toBe(true)
  now += 2 * 60_000
  expect(trials.has('a')).toBe(false)
  trials.place({ id: 'a', capabilities: asks }, 'tool')
  expect(trials.has('a')).toBe(false)
})

test('nobody is tried where it does not apply, nor after the program did not run twice, until it changes', () => {
  let applies = false
  const trials = new ServerAskTrials(() => applies)
  trials.place({ id: 'a', capabilities: asks }, 'tool')
  expect(trials.has('a')).toBe(false)
  applies = true
  trials.place({ id: 'a', capabilities: asks }, 'tool')
  expect(trials.has('a')).toBe(true)
  trials.stop()
  trials.place({ id: 'b', capabilities: asks }, 'tool')
  expect([trials.has('a'), trials.has('b')]).toEqual([false, false])
  trials.renew()
  trials.place({ id: 'b', capabilities: asks }, 'tool')
  expect(trials.has('b')).toBe(true)
})
