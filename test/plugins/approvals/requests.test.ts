/** How long one yes holds, and for how many calls. */
import { afterEach, beforeEach, expect, setSystemTime, test } from 'bun:test'
import { type Asked, Requests } from '../../../plugins/approvals/requests.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MINUTE = 60_000

beforeEach(() => {
  setSystemTime(new Date(START))
})
afterEach(() => {
  setSystemTime()
})

function asked(rememberMs = 0): Asked {
  return {
    ...{ key: 'k', callerId: 'u', caller: 'ada', client: '', serverId: 's', server: 'bob~s', tool: 't', shown: {} },
    ask: { who: 'owner', by: ['console'], timeoutMs: 10 * MINUTE, rememberMs, rule: '{}', deciderId: 'b' },
  }
}

function approved(rememberMs = 0): Requests {
  const requests = new Requests({ perUser: 16, inAll: 500 }, () => {})
  const request = requests.open(asked(rememberMs), {})
  if (!request) throw new Error('no request was opened')
  expect(requests.decide(request, { state: 'approved', remember: rememberMs > 0 })).toBe(true)
  return requests
}

test('a yes is for one call', () => {
  const requests = approved()
  expect([requests.take('k'), requests.take('k')]).toEqual(['approved', undefined])
})

test('a yes that comes back unused ends ten minutes after the decision, however often it was taken', () => {
  const requests = approved()
  for (const minute of [4, 8]) {
    setSystemTime(new Date(START + minute * MINUTE))
    expect(requests.take('k')).toBe('approved')
    requests.giveBack('k')
  }
  setSystemTime(new Date(START + 11 * MINUTE))
  expect(requests.take('k')).toBeUndefined()
})

test('a yes that is remembered leaves no further one behind', () => {
  const requests = approved(MINUTE)
  expect([requests.take('k'), requests.take('k')]).toEqual(['approved', 'approved'])
  requests.giveBack('k')
  setSystemTime(new Date(START + 2 * MINUTE))
  expect(requests.take('k')).toBeUndefined()
})
