import { expect, test } from 'bun:test'
import type { ToolCallRecord } from '../../../core/features/call-records.ts'
import { CallLinks } from '../../../core/telemetry/calls/call-links.ts'

const MINUTE_MS = 60_000

function call(more: Partial<ToolCallRecord> = {}): ToolCallRecord {
  return {
    ...{ at: '', requestId: 'r', userId: 'u1', userName: 'ann', ownerId: 'u2', serverId: 's1', server: 'time' },
    ...{
      group: 'daily',
      groupId: 'g1',
      tool: 'now',
      durationMs: 1,
      outcome: 'ok',
      status: 'success',
      clientName: 'claude-code',
    },
    ...more,
  }
}

test('a link counts the calls of the minutes that are asked for, and forgets the others', () => {
  let nowMs = 1_000 * MINUTE_MS
  const links = new CallLinks(() => nowMs)
  for (let minute = 0; minute < 90; minute += 1) {
    for (let n = 0; n < 3; n += 1) links.add(call({ outcome: n === 0 ? 'tool_error' : 'ok' }))
    nowMs += MINUTE_MS
  }
  // The present minute has none yet.
  expect(links.list(1)).toEqual([])
  for (const minutes of [2, 5, 60]) {
    const [link, ...others] = links.list(minutes)
    expect(others).toEqual([])
    expect([link?.calls, link?.failures]).toEqual([3 * (minutes - 1), minutes - 1])
    expect(link?.lastUsedAtMs).toBe(nowMs - MINUTE_MS)
  }
  nowMs += 70 * MINUTE_MS
  expect(links.list(60)).toEqual([])
  links.add(call())
  expect(links.list(60).map(({ calls }) => calls)).toEqual([1])
})

test('a clock that goes back loses no call and makes none', () => {
  let nowMs = 1_000 * MINUTE_MS
  const links = new CallLinks(() => nowMs)
  links.add(call())
  nowMs -= 20 * MINUTE_MS
  links.add(call())
  nowMs += 20 * MINUTE_MS
  expect(links.list(5).map(({ calls }) => calls)).toEqual([2])
})

test('another client, key, group or server is another link; a call that reached none has no server', () => {
  const links = new CallLinks()
  for (const more of [{}, { clientName: 'cursor' }, { clientName: undefined }, { keyId: 'k1' }, { groupId: 'g2' }])
    links.add(call(more))
  links.add(call({ serverId: 's2', server: 'web' }))
  links.add(call({ ownerId: 'u1', serverId: '', server: '', outcome: 'refused', status: 'tool_not_found' }))
  const found = links.list(5)
  expect(found).toHaveLength(7)
  expect(found.at(-1)).toMatchObject({ failures: 1, calls: 1 })
  expect(found.at(-1)?.server).toBeUndefined()
})

test('a user who invents clients fills an own share alone', () => {
  const links = new CallLinks()
  links.add(call({ userId: 'quiet' }))
  for (let n = 0; n < 3_000; n += 1) links.add(call({ userId: 'loud', clientName: `c${n}` }))
  expect(links.list(5)).toHaveLength(501)
  for (let user = 0; user < 20; user += 1)
    for (let n = 0; n < 500; n += 1) links.add(call({ userId: `loud${user}`, clientName: `c${n}` }))
  const found = links.list(5)
  expect(found).toHaveLength(5_000)
  expect(found.some(({ userId }) => userId === 'quiet')).toBe(true)
  links.forget('quiet')
  expect(links.list(5)).toHaveLength(4_999)
})
