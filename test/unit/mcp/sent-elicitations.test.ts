import { expect, test } from 'bun:test'
import { SentElicitations } from '../../../core/mcp/legacy/sent-elicitations.ts'
import type { Session } from '../../../core/mcp/legacy/session.ts'

test('an elicitation is known by a few bytes, however long an id its server chose, and 100 of each session', () => {
  const sent = new SentElicitations()
  const session = { elicitations: new Set<string>() } as unknown as Session
  const id = (n: number) => `${n}${'x'.repeat(10_000)}`
  for (let n = 1; n <= 150; n += 1) sent.sent(session, 's', id(n))
  expect([...session.elicitations].join('').length).toBeLessThan(100 * 64)
  expect([sent.completed('s', id(50)), sent.completed('s', id(51))]).toEqual([[], [session]])
  sent.drop(session)
  expect(sent.completed('s', id(150))).toEqual([])
})
