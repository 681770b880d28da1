import { expect, test } from 'bun:test'
import { ServerAskTrials } from '../../../core/connections/probe/ask-trials.ts'
import type { JsonObject } from '../../../core/contract/json.ts'

const asks = { elicitation: {} }
const caller = (id: string, capabilities: JsonObject = asks, userId = 'u') => ({ id, userId, capabilities })

test('a caller is tried with a tool that has not answered one who can be asked, and is not moved afterwards', () => {
  const trials = new ServerAskTrials(() => true)
  trials.place(caller('a'), 'tool')
  trials.ended(caller('a'), 'tool', true)
  trials.place(caller('b'), 'tool')
  trials.place(caller('c', { elicitation: {}, roots: {} }), 'tool')
  expect(['a', 'b', 'c', 'd'].map(id => trials.has(id))).toEqual([true, false, true, false])
  trials.place(caller('a'), 'tool')
  trials.place(caller('b'), 'other')
  expect([trials.has('a'), trials.has('b')]).toEqual([true, false])
})

test('a caller is placed again after ten minutes without a call, and callers that are gone take no memory', () => {
  let now = 0
  const trials = new ServerAskTrials(
    () => true,
    () => now,
  )
  trials.place(caller('a'), 'tool')
  now = 9 * 60_000
  trials.place(caller('a'), 'tool')
  trials.ended(caller('a'), 'tool', true)
  now += 9 * 60_000
  expect(trials.has('a')).toBe(true)
  now += 2 * 60_000
  expect(trials.has('a')).toBe(false)
  trials.place(caller('a'), 'tool')
  expect(trials.has('a')).toBe(false)
})

test('no trial is made where it does not apply, nor after the program did not run twice, until it changes', () => {
  let applies = false
  const trials = new ServerAskTrials(() => applies)
  trials.place(caller('a'), 'tool')
  expect(trials.has('a')).toBe(false)
  applies = true
  trials.place(caller('a'), 'tool')
  expect(trials.has('a')).toBe(true)
  trials.stop()
  trials.place(caller('b'), 'tool')
  expect([trials.has('a'), trials.has('b')]).toEqual([false, false])
  trials.renew()
  trials.place(caller('b'), 'tool')
  expect(trials.has('b')).toBe(true)
})

test('one of a user’s callers at a time tries a tool, and the others wait until it is over, or for five seconds', async () => {
  let now = 0
  const trials = new ServerAskTrials(
    () => true,
    () => now,
  )
  trials.place(caller('a'), 'tool')
  const waiting = trials.settling(caller('b'), 'tool')
  expect(waiting).toBeInstanceOf(Promise)
  // Others do not wait: the one that tries, another tool, another user.
  expect(trials.settling(caller('a'), 'tool')).toBeUndefined()
  expect(trials.settling(caller('b'), 'other')).toBeUndefined()
  expect(trials.settling(caller('b', asks, 'v'), 'tool')).toBeUndefined()
  trials.ended(caller('a'), 'tool', false)
  await waiting
  expect(trials.settling(caller('b'), 'tool')).toBeUndefined()
  // An error shows nothing.
  trials.place(caller('b'), 'tool')
  expect(trials.has('b')).toBe(true)
  expect(trials.settling(caller('c'), 'tool')).toBeInstanceOf(Promise)
  now = 5_000
  expect(trials.settling(caller('c'), 'tool')).toBeUndefined()
  trials.place(caller('c'), 'tool')
  const last = trials.settling(caller('d'), 'tool')
  trials.settle()
  await last
  expect(trials.settling(caller('d'), 'tool')).toBeUndefined()
})
