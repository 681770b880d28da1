import { describe, expect, test } from 'bun:test'
import type { DurationKey, DurationRow } from '../../../core/features/log-store.ts'
import { DurationSeries } from '../../../core/telemetry/duration-series.ts'
import { DurationStore } from '../../../plugins/log-database/files/durations.ts'
import type { DurationQuery } from '../../../plugins/log-database/protocol.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const AT = Date.UTC(2026, 10, 22, 9, 30)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const key = (more: Partial<DurationKey> = {}): DurationKey => ({
  ...{ kind: 'tool_execution', owner: 'ada', serverId: 's1', server: 'time', tool: 'now' },
  ...more,
})
const query = (more: Partial<DurationQuery> = {}): DurationQuery => ({
  ...{ readers: 'all', kinds: ['tool_execution'], by: 'kind', rangeMs: HOUR, limit: 100 },
  ...more,
})
const total = (rows: readonly DurationRow[]): number => rows.reduce((sum, { count }) => sum + count, 0)

describe('DurationSeries', () => {
  test('adds up by slots of 10 s and series, and keeps what could not be stored', () => {
    let now = AT + 3_000
    const series = new DurationSeries(() => now)
    for (const ms of [1, 2, 3]) series.add(key(), ms, ms === 3)
    series.add(key({ tool: 'other' }), 5, false)
    now = AT + 10_000
    series.add(key(), 0.004, false)
    const rows = series.take()
    expect(
      rows.map(({ at, tool, count, failed, sum, least, greatest }) => [
        at - AT,
        tool,
        count,
        failed,
        sum,
        least,
        greatest,
      ]),
    ).toEqual([
      [0, 'now', 3, 1, 6_000, 1_000, 3_000],
      [0, 'other', 1, 0, 5_000, 5_000, 5_000],
      [10_000, 'now', 1, 0, 4, 4, 4],
    ])
    expect(series.take()).toEqual([])
    series.putBack(rows)
    series.add(key(), 1, false)
    expect(total(series.take())).toBe(6)
  })

  test('any number of tools and owners makes a bounded number of rows with the right total', () => {
    const series = new DurationSeries(() => AT)
    for (let n = 0; n < 5_000; n += 1) series.add(key({ owner: `u${n % 3_000}`, tool: `t${n}` }), 1, false)
    const rows = series.take()
    expect(rows.length).toBeLessThanOrEqual(1_001)
    expect(total(rows)).toBe(5_000)
    for (let n = 0; n < 10; n += 1) series.putBack(rows)
    expect(series.take().length).toBeLessThanOrEqual(3_000)
  })
})

describe('DurationStore', () => {
  /** Rows as the series makes them. */
  const rowsOf = (
    at: number,
    values: readonly (readonly [DurationKey, number, boolean?])[],
  ): readonly DurationRow[] => {
    const series = new DurationSeries(() => at)
    for (const [each, ms, failed = false] of values) series.add(each, ms, failed)
    return series.take()
  }
  const opened = async (work: (store: DurationStore, notes: string[]) => void): Promise<void> => {
    const folder = await makeTemp('durations')
    const notes: string[] = []
    const store = new DurationStore(folder, note => notes.push(note))
    try {
      work(store, notes)
    } finally {
      store.close()
      await removeTemp(folder)
    }
  }

  test('adds up what came in parts, and shows each reader its own servers', () =>
    opened(store => {
      const bob = key({ owner: 'bob', serverId: 's2', server: 'web', tool: 'get' })
      store.add(
        rowsOf(
          AT,
          Array.from({ length: 50 }, (_, n) => [key(), n + 1] as const),
        ),
      )
      store.add(
        rowsOf(
          AT,
          Array.from({ length: 50 }, (_, n) => [key(), n + 51, n === 0] as const),
        ),
      )
      store.add(rowsOf(AT + MINUTE, [[bob, 500]]))
      const now = AT + 2 * MINUTE
      const [ada] = store.measures(query({ readers: ['ada'] }), now).measures
      expect(ada).toMatchObject({ count: 100, failed: 1, avgMs: 50.5, minMs: 1, maxMs: 100 })
      for (const [found, right] of [
        [ada?.p50Ms, 50],
        [ada?.p95Ms, 95],
        [ada?.p99Ms, 99],
      ])
        expect(Math.abs((found ?? 0) - (right ?? 0))).toBeLessThan((right ?? 0) * 0.009)
      const servers = store.measures(query({ by: 'server' }), now).measures
      expect(servers.map(({ server, count }) => [server, count])).toEqual([
        ['time', 100],
        ['web', 1],
      ])
      expect(store.measures(query({ serverId: 's2' }), now).measures[0]).toMatchObject({ count: 1, avgMs: 500 })
      expect(store.measures(query({ readers: ['carl'] }), now).measures).toEqual([])
      const steps = store.measures(query({ stepMs: MINUTE }), now).measures
      expect(steps.map(({ slot = 0, count }) => [slot - AT, count])).toEqual([
        [0, 100],
        [MINUTE, 1],
      ])
    }))

  test('rows without an owner are for administrators only', () =>
    opened(store => {
      const api = key({ kind: 'api_requests', owner: '', serverId: '', server: '', tool: '' })
      store.add(rowsOf(AT, [[api, 3]]))
      const found = (readers: 'all' | [string]) =>
        store.measures(query({ readers, kinds: ['api_requests'] }), AT + MINUTE).measures
      expect(found(['carl'])).toEqual([])
      expect(found('all')).toEqual([expect.objectContaining({ kind: 'api_requests', count: 1 })])
    }))

  test('coarser tables keep what the finer ones have lost, and old series go', () =>
    opened(store => {
      store.add(rowsOf(AT, [[key(), 7]]))
      const later = AT + 10 * DAY
      for (let round = 0; round < 200; round += 1) store.retain(later)
      expect(store.measures(query({ rangeMs: 30 * DAY }), later).measures).toEqual([
        expect.objectContaining({ count: 1, avgMs: 7 }),
      ])
      expect(store.measures(query({ rangeMs: 30 * DAY, stepMs: MINUTE }), later).measures).toEqual([])
      for (let round = 0; round < 200; round += 1) store.retain(AT + 500 * DAY)
      expect(store.measures(query({ rangeMs: 400 * DAY }), AT + 500 * DAY).measures).toEqual([])
    }))
})
