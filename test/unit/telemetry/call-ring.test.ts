import { describe, expect, test } from 'bun:test'
import type { UserActor } from '../../../core/contract/records.ts'
import type { CallQuery } from '../../../core/features/calls.ts'
import { withCalls } from '../../../core/telemetry/calls/call-durations.ts'
import { CallQueue } from '../../../core/telemetry/calls/call-queue.ts'
import { CallRing, type CountedCall } from '../../../core/telemetry/calls/call-ring.ts'
import { callStats } from '../../../core/telemetry/calls/call-stats.ts'
import { DurationSeries } from '../../../core/telemetry/duration-series.ts'

const AT = Date.UTC(2026, 10, 22, 9, 30)
const HOUR = 3_600_000
const call = (more: Partial<CountedCall> = {}): CountedCall => ({
  ...{ ownerId: 'ada', userId: 'ada', serverId: 's1', server: 'time', tool: 'now', outcome: 'ok' },
  ...{ durationMs: 4, resultBytes: 10, ...more },
})
const actor = (userId: string, role: UserActor['role'] = 'user'): UserActor => ({
  ...{ kind: 'user', userId, name: userId, role, credential: { kind: 'local' } },
})

function opened() {
  const clock = { now: AT + 3_000 }
  const ring = new CallRing(() => clock.now)
  const stats = (query: Partial<CallQuery> = {}) => callStats(ring, { by: [], range: HOUR, ...query })
  const rows = async (query: Partial<CallQuery> = {}) => (await stats(query)).rows
  return { clock, ring, stats, rows }
}

describe('CallRing', () => {
  test('tells calls apart by the fields of the question, within its time and conditions', async () => {
    const { clock, ring, rows, stats } = opened()
    for (const durationMs of [1, 2, 3]) ring.add(call({ durationMs }))
    clock.now += 60_000
    ring.add(call({ userId: 'bob', outcome: 'timeout', durationMs: 100 }))
    ring.add(call({ userId: 'bob', ownerId: 'bob', serverId: '', server: '', tool: 'any text', outcome: 'refused' }))
    expect(await rows()).toMatchObject([{ calls: 5, failed: 2, resultBytes: 50, avgMs: 26.5, maxMs: 100 }])
    expect(await rows({ by: ['server', 'tool'] })).toMatchObject([
      { serverId: 's1', server: 'time', tool: 'now', calls: 4 },
      // The caller's text is no tool.
      { serverId: '', server: '', tool: '', calls: 1, avgMs: null, p99Ms: null },
    ])
    expect(await rows({ by: ['caller', 'outcome'], where: { server: 's1' } })).toMatchObject([
      { userId: 'ada', outcome: 'ok', calls: 3, p50Ms: expect.closeTo(2, 1) },
      { userId: 'bob', outcome: 'timeout', calls: 1 },
    ])
    expect(await rows({ by: ['caller'], range: 10_000 })).toMatchObject([{ userId: 'bob', calls: 2 }])
    clock.now += HOUR - 10_000
    ring.add(call())
    const last = await stats()
    expect(last.rows).toMatchObject([{ calls: 3 }])
    expect(last.from).toBe(AT + 60_000)
  })

  test('a user knows of its own calls and of those of its servers, an administrator of all', async () => {
    const { ring, rows } = opened()
    ring.add(call())
    ring.add(call({ userId: 'bob' }))
    ring.add(call({ ownerId: 'eve', userId: 'bob', serverId: 's2' }))
    const seen = async (reader: UserActor) => (await rows({ for: reader }))[0]?.calls
    expect(await Promise.all([actor('ada'), actor('bob'), actor('eve'), actor('root', 'admin')].map(seen))).toEqual([
      ...[2, 2, 1, 3],
    ])
    expect(await rows({ for: actor('nobody') })).toEqual([])
  })

  test('any number of kinds makes a bounded number of rows with the right total, and leaves others their own', async () => {
    const { clock, ring, rows } = opened()
    for (let n = 0; n < 3_000; n += 1) ring.add(call({ userId: 'flood', tool: `t${n}` }))
    for (let n = 0; n < 20; n += 1) ring.add(call({ userId: 'bob', tool: `own${n}` }))
    expect(await rows({ by: ['tool'], where: { caller: 'bob' } })).toHaveLength(20)
    for (let n = 0; n < 5_000; n += 1) ring.add(call({ userId: `u${n}`, ownerId: `o${n}` }))
    expect([...ring.rows(0)].length).toBeLessThanOrEqual(1_010)
    expect(await rows()).toMatchObject([{ calls: 8_020 }])
    for (let slot = 0; slot < 150; slot += 1) {
      clock.now += 10_000
      for (let n = 0; n < 1_000; n += 1) ring.add(call({ userId: `u${n}` }))
    }
    expect([...ring.rows(0)].length).toBeLessThanOrEqual(101_000)
    expect(ring.oldest).toBeGreaterThan(AT)
  })

  test('what is taken for the store is in the ring further on, and nothing is taken twice', async () => {
    const { clock, ring, rows } = opened()
    const pending = withCalls(new DurationSeries(() => clock.now), ring)
    ring.add(call())
    ring.add(call({ userId: 'bob', outcome: 'tool_error', durationMs: 6 }))
    const taken = pending.take().map(({ kind, owner, count, failed, sum }) => [kind, owner, count, failed, sum])
    expect(taken).toEqual([
      ['tool_execution', 'ada', 2, 1, 10_000],
      ['calls_elsewhere', 'bob', 1, 1, 6_000],
    ])
    expect(pending.take()).toEqual([])
    ring.pack()
    ring.add(call({ serverId: '', tool: '', outcome: 'refused' }))
    ring.add(call())
    const again = pending.take()
    expect(again.map(({ kind, count, at }) => [kind, count, at - AT])).toEqual([
      ['calls_unsent', 1, 0],
      ['tool_execution', 1, 0],
    ])
    pending.putBack(again)
    expect(pending.take()).toEqual(again)
    expect([...ring.rows(0)].length).toBe(3)
    expect(await rows()).toMatchObject([{ calls: 4, failed: 2, p50Ms: expect.closeTo(4, 1) }])
  })
})

test('a queue that is full loses calls of the user with the most, and counts them', async () => {
  const queue = new CallQueue()
  const ended = (userId: string, tool: string) => ({ ...call({ userId, tool }), ...PLACE })
  queue.add(ended('bob', 'first'))
  for (let n = 0; n < 12_000; n += 1) queue.add(ended('flood', `t${n}`))
  queue.add(ended('bob', 'last'))
  const batch = await queue.next()
  expect([batch?.calls.length, batch?.lost]).toEqual([10_000, 2_002])
  expect([batch?.calls[0]?.tool, batch?.calls.at(-1)?.tool]).toEqual(['first', 'last'])
  const waiting = queue.next()
  queue.end()
  expect(await waiting).toBeUndefined()
})

const PLACE = { at: '', requestId: '', groupId: 'g', status: 'success' }
