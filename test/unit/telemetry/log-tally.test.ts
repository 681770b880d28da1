import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TallyKey, TallyRow } from '../../../core/features/log-store.ts'
import { LogTally } from '../../../core/telemetry/log-tally.ts'
import { TallyStore } from '../../../plugins/log-database/files/tally.ts'
import type { TallyQuery } from '../../../plugins/log-database/protocol.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const AT = Date.UTC(2026, 10, 22, 9, 30)
const HOUR = 3_600_000
const DAY = 24 * HOUR

const key = (more: Partial<TallyKey> = {}): TallyKey => ({
  ...{ level: 'INFO', owner: 'ada', caller: '', serverId: 's1', server: 'time', tool: 'now', code: '' },
  ...{ isCall: true, failed: false },
  ...more,
})
const total = (rows: readonly TallyRow[]): number => rows.reduce((sum, { count }) => sum + count, 0)

describe('LogTally', () => {
  test('counts by slots of 10 s, and what could not be stored once more', () => {
    let now = AT + 3_000
    const tally = new LogTally(() => now)
    for (let call = 0; call < 3; call += 1) tally.add(key())
    tally.add(key({ code: 'timeout', failed: true }))
    now = AT + 10_000
    tally.add(key())
    const rows = tally.take()
    expect(rows.map(({ at, code, count }) => [at - AT, code, count])).toEqual([
      [0, '', 3],
      [0, 'timeout', 1],
      [10_000, '', 1],
    ])
    expect(tally.take()).toEqual([])
    tally.add(key())
    tally.putBack(rows)
    expect(total(tally.take())).toBe(6)
  })

  test('tells kinds apart by each member, also where they come by turns', () => {
    const tally = new LogTally(() => AT)
    const others: Partial<TallyKey>[] = [
      ...[{ level: 'WARN' }, { owner: 'bob' }, { caller: 'eve' }, { serverId: 's2' }, { tool: 'then' }, { code: 'x' }],
      ...[{ isCall: false }, { failed: true }],
    ] as Partial<TallyKey>[]
    for (const more of others) {
      for (let call = 0; call < 3; call += 1) for (const each of [key(), key(), key(more)]) tally.add(each)
      const rows = tally.take()
      expect(rows.map(({ count }) => count)).toEqual([6, 3])
      expect(rows[1]).toMatchObject(more)
    }
  })

  test('keeps at most 300 rows of a slot and a few more, and the number of all', () => {
    const tally = new LogTally(() => AT)
    for (let tool = 0; tool < 5_000; tool += 1) tally.add(key({ tool: `t${tool}`, failed: tool % 2 === 0 }))
    const rows = tally.take()
    expect(rows.length).toBeLessThan(305)
    expect(total(rows)).toBe(5_000)
    expect(total(rows.filter(({ failed }) => failed))).toBe(2_500)
    let now = AT
    const waiting = new LogTally(() => now)
    for (let slot = 0; slot < 100; slot += 1, now += 10_000) {
      const before = waiting.take()
      for (let tool = 0; tool < 100; tool += 1) waiting.add(key({ tool: `t${tool}` }))
      waiting.putBack(before)
    }
    expect(waiting.take().length).toBeLessThanOrEqual(3_100)
  })
})

describe('TallyStore', () => {
  const query = (more: Partial<TallyQuery> = {}): TallyQuery => ({
    ...{ readers: 'all', only: 'all', by: 'server', rangeMs: HOUR, limit: 1_000 },
    ...more,
  })

  test('answers to each reader what it may read, of any age that is kept', async () => {
    const folder = await makeTemp('tally')
    try {
      const store = new TallyStore(folder, () => undefined)
      const row = (ago: number, count: number, more: Partial<TallyKey> = {}) => ({ ...key(more), at: AT - ago, count })
      store.add([
        row(0, 5),
        row(20_000, 2, { caller: 'bob', tool: 'zone', code: 'timeout', failed: true }),
        row(0, 1, { serverId: 's2', server: 'other', owner: 'eve', isCall: false, level: 'ERROR', failed: true }),
        row(2 * DAY, 40),
        row(300 * DAY, 100),
      ])
      const now = AT + 5_000
      const numbers = (more: Partial<TallyQuery>) => store.counts(query(more), now).counts.map(({ count }) => count)
      expect(numbers({})).toEqual([7, 1])
      expect(numbers({ readers: ['bob'] })).toEqual([2])
      expect(numbers({ readers: ['eve'] })).toEqual([1])
      expect(numbers({ readers: ['nobody'] })).toEqual([])
      expect(numbers({ only: 'calls' })).toEqual([7])
      expect(numbers({ only: 'errors', by: 'code' })).toEqual([2, 1])
      expect(numbers({ by: 'tool' })).toEqual([5, 2, 1])
      expect(numbers({ rangeMs: 3 * DAY, readers: ['ada'] })).toEqual([47])
      expect(numbers({ rangeMs: 400 * DAY, readers: ['ada'] })).toEqual([147])
      const { counts, from } = store.counts(query({ stepMs: 10_000, rangeMs: DAY, by: 'level' }), now)
      expect(from).toBe(AT + 10_000 - 6 * HOUR)
      expect(counts.map(({ slot = 0, level, count }) => [slot - AT, level, count])).toEqual([
        [-20_000, 30, 2],
        [0, 30, 5],
        [0, 50, 1],
      ])
      // Each turn removes a part: ten minutes of the finest table.
      for (let turn = 0; turn < 3; turn += 1) store.retain(AT + 401 * DAY)
      expect(store.counts(query({ rangeMs: 400 * DAY }), now).counts).toEqual([])
      store.close()
    } finally {
      await removeTemp(folder)
    }
  })

  test('puts a damaged file aside', async () => {
    const folder = await makeTemp('tally')
    try {
      writeFileSync(join(folder, 'tally.db'), 'this is no database, but long enough to be read as one')
      const notes: string[] = []
      const store = new TallyStore(folder, note => notes.push(note))
      store.add([{ ...key(), at: AT, count: 1 }])
      expect(store.counts(query(), AT).counts).toHaveLength(1)
      store.close()
      expect(notes).toEqual([expect.stringContaining('put aside')])
      expect((await readdir(folder)).some(name => name.startsWith('tally.db.damaged-'))).toBe(true)
    } finally {
      await removeTemp(folder)
    }
  })
})
