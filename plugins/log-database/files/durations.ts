import { join } from 'node:path'
import type Database from 'better-sqlite3'
import type { DurationKey, DurationRow, Measure, Measured, SeriesKind } from 'patchbay/features'
import { Histogram } from 'patchbay/log-kit'
import type { DurationQuery } from '../protocol.ts'
import { type Level, type Levels, marks, RollupFile, reachOf } from './rollup-file.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Finest first: the length of a slot, and the time for which its rows are kept, in milliseconds. */
const LEVELS = [
  { table: 'duration_10s', slotMs: 10_000, keptMs: 6 * HOUR_MS },
  { table: 'duration_1m', slotMs: 60_000, keptMs: 7 * DAY_MS },
  { table: 'duration_1h', slotMs: HOUR_MS, keptMs: 400 * DAY_MS },
] as const satisfies Levels
/** Beyond it the oldest rows of each table go. */
const MOST_BYTES = 1024 * 1024 * 1024
/** Slots that one answer without steps is put together of: with more of them a coarser table answers. */
const MOST_SLOTS = 360

const SERIES = `create table if not exists series(id integer primary key, kind text not null, owner text not null,
  server_id text not null, server text not null, tool text not null, last integer not null,
  unique(kind, owner, server_id, tool));`

type Stored = Omit<DurationRow, keyof DurationKey | 'at'>

interface Series {
  readonly id: number
  readonly kind: Measure['kind']
  readonly serverId: string
  readonly server: string
  readonly tool: string
  /** Its rows have durations. */
  readonly timed: boolean
}

/** Durations by time and series, with their distribution, kept in three tables of different fineness. */
export class DurationStore {
  readonly #file: RollupFile

  constructor(folder: string, note: (text: string) => void) {
    const tables = LEVELS.map(
      ({ table }) => `create table if not exists ${table}(at integer not null, series integer not null,
        count integer not null, failed integer not null, sum integer not null, least integer not null,
        greatest integer not null, histogram blob not null, primary key (at, series)) without rowid;`,
    )
    const schema = [SERIES, ...tables].join('\n')
    this.#file = new RollupFile({
      ...{ path: join(folder, 'durations.db'), levels: LEVELS, schema, mostBytes: MOST_BYTES, note },
    })
  }

  /** Adds the rows to the stored ones of their slots, in one transaction. Throws as `RollupFile.store`. */
  add(rows: readonly DurationRow[]): void {
    this.#file.store(db => {
      const series =
        db.prepare(`insert into series(kind, owner, server_id, server, tool, last) values (?, ?, ?, ?, ?, ?)
        on conflict do update set server = excluded.server, last = excluded.last returning id`)
      const ids = rows.map(({ kind, owner, serverId, server, tool, at }) => {
        const [made] = series.all([kind, owner, serverId, server, tool, at]) as { readonly id: number }[]
        return made?.id ?? 0
      })
      for (const level of LEVELS) addTo(db, level, rows, ids)
    })
  }

  /** Durations of the series until `nowMs`, the most frequent first, or by time if the query has a step. */
  measures(query: DurationQuery, nowMs: number): Measured {
    const { rangeMs, stepMs, by, limit, countsOnly = false, lines } = query
    const { table, from } = reachOf(LEVELS, { rangeMs, stepMs, mostSlots: MOST_SLOTS }, nowMs)
    const db = this.#file.db
    const wanted = db ? seriesOf(db, query) : new Map<number, Series>()
    const sums = new Map<string, Sums>()
    if (db && wanted.size > 0) {
      const rows = db.prepare(`select at, series, count, failed, sum, least, greatest, histogram from ${table}
        where at >= ? order by at`)
      for (const row of rows.all([from]) as (Stored & { readonly at: number; readonly series: number })[]) {
        const series = wanted.get(row.series)
        if (!series) continue
        const slot = stepMs === undefined ? undefined : Math.floor(row.at / stepMs) * stepMs
        const key = `${slot ?? ''}\n${keyOf(series, by)}`
        const sum = sums.get(key) ?? new Sums(labelsOf(series, by), slot)
        sums.set(key, sum)
        sum.add(row, !countsOnly, series.timed)
      }
    }
    const measures = ofBusiest(
      [...sums.values()].map(each => each.measure()),
      lines,
    )
    if (stepMs === undefined) measures.sort((a, b) => b.count - a.count)
    return { from, to: nowMs, measures: measures.slice(0, limit) }
  }

  retain(nowMs: number): void {
    this.#file.retain(nowMs)
    this.#file.db?.prepare('delete from series where last < ?').run([nowMs - LEVELS[2].keptMs])
  }

  close(): void {
    this.#file.close()
  }
}

/** Numbers of several slots and series together. */
class Sums {
  readonly #labels: Pick<Measure, 'kind' | 'serverId' | 'server' | 'tool'>
  readonly #slot: number | undefined
  readonly #histogram = new Histogram()
  #count = 0
  #timed = 0
  #failed = 0
  #sum = 0
  #least = Number.POSITIVE_INFINITY
  #greatest = 0

  constructor(labels: Pick<Measure, 'kind' | 'serverId' | 'server' | 'tool'>, slot: number | undefined) {
    this.#labels = labels
    this.#slot = slot
  }

  add({ count, failed, sum, least, greatest, histogram }: Stored, withDistribution = true, timed = true): void {
    this.#count += count
    this.#failed += failed
    if (!timed) return
    this.#timed += count
    this.#sum += sum
    this.#least = Math.min(this.#least, least)
    this.#greatest = Math.max(this.#greatest, greatest)
    if (withDistribution) this.#histogram.merge(Histogram.decode(histogram))
  }

  stored(): readonly (number | Uint8Array)[] {
    return [this.#count, this.#failed, this.#sum, this.#least, this.#greatest, this.#histogram.encode()]
  }

  measure(): Measure {
    return {
      ...this.#labels,
      ...(this.#slot === undefined ? {} : { slot: this.#slot }),
      count: this.#count,
      failed: this.#failed,
      avgMs: this.#milliseconds(this.#sum / this.#timed),
      minMs: this.#milliseconds(this.#least),
      maxMs: this.#milliseconds(this.#greatest),
      p50Ms: this.#quantileMs(0.5),
      p95Ms: this.#quantileMs(0.95),
      p99Ms: this.#quantileMs(0.99),
    }
  }

  /** Clamped to the observed values: the middle of a bucket may be outside of them. */
  #quantileMs(part: number): number | null {
    const middle = this.#histogram.quantile(part) ?? 0
    return this.#milliseconds(Math.min(Math.max(middle, this.#least), this.#greatest))
  }

  #milliseconds(micros: number): number | null {
    return this.#timed === 0 ? null : micros / 1_000
  }
}

function addTo(db: Database, { table, slotMs }: Level, rows: readonly DurationRow[], ids: readonly number[]): void {
  const select = db.prepare(`select count, failed, sum, least, greatest, histogram from ${table}
    where at = ? and series = ?`)
  const replace = db.prepare(`insert or replace into ${table} values (?, ?, ?, ?, ?, ?, ?, ?)`)
  for (const [index, row] of rows.entries()) {
    const place = [Math.floor(row.at / slotMs) * slotMs, ids[index] ?? 0]
    const [before] = select.all(place) as Stored[]
    const sums = new Sums({ kind: READ_AS[row.kind] }, undefined)
    if (before) sums.add(before)
    sums.add(row)
    replace.run([...place, ...sums.stored()])
  }
}

/** The kind under which each stored series is read. */
const READ_AS: Readonly<Record<SeriesKind, Measure['kind']>> = {
  server_startup: 'server_startup',
  tool_execution: 'tool_execution',
  api_requests: 'api_requests',
  calls_elsewhere: 'tool_execution',
  calls_unsent: 'tool_execution',
}

/** The stored kinds for the requested ones. A reader of all records already has the calls of other users' servers. */
function storedKinds(kinds: DurationQuery['kinds'], readsAll: boolean): readonly SeriesKind[] {
  if (!kinds.includes('tool_execution')) return kinds
  return [...kinds, 'calls_unsent', ...(readsAll ? [] : (['calls_elsewhere'] as const))]
}

/** The series that the reader may see, by id. Series without an owner, such as anonymous requests, are for readers of all. */
function seriesOf(
  db: Database,
  { readers, kinds, serverId, serverIds, tool }: DurationQuery,
): ReadonlyMap<number, Series> {
  const stored = storedKinds(kinds, readers === 'all')
  const conditions = [`kind in (${marks(stored)})`]
  const values: string[] = [...stored]
  if (readers !== 'all') {
    conditions.push(`owner in (${marks(readers)})`)
    values.push(...readers)
  }
  if (serverId !== undefined) {
    conditions.push('server_id = ?')
    values.push(serverId)
  }
  if (serverIds !== undefined) {
    // One value, since a statement has a limited number of them.
    conditions.push('server_id in (select value from json_each(?))')
    values.push(JSON.stringify(serverIds))
  }
  if (tool !== undefined) {
    conditions.push('tool = ?')
    values.push(tool)
  }
  const rows = db.prepare(`select id, kind, server_id serverId, server, tool from series
    where ${conditions.join(' and ')}`)
  const found = rows.all(values) as (Omit<Series, 'kind' | 'timed'> & { readonly kind: SeriesKind })[]
  return new Map(
    found.map(({ kind, ...series }) => [series.id, { ...series, kind: READ_AS[kind], timed: kind !== 'calls_unsent' }]),
  )
}

function keyOf({ kind, serverId, tool }: Series, by: DurationQuery['by']): string {
  if (by === 'kind') return kind
  return by === 'server' ? `${kind}\n${serverId}` : `${kind}\n${serverId}\n${tool}`
}

function labelsOf({ kind, serverId, server, tool }: Series, by: DurationQuery['by']) {
  if (by === 'kind') return { kind }
  return by === 'server' ? { kind, serverId, server } : { kind, serverId, server, tool }
}

/** The measures of those that were most frequent in all steps together. */
function ofBusiest(measures: Measure[], lines: number | undefined): Measure[] {
  if (lines === undefined) return measures
  const labelOf = ({ kind, serverId = '', tool = '' }: Measure): string => `${kind}\n${serverId}\n${tool}`
  const totals = new Map<string, number>()
  for (const measure of measures) totals.set(labelOf(measure), (totals.get(labelOf(measure)) ?? 0) + measure.count)
  const busiest = [...totals].sort(([, a], [, b]) => b - a).slice(0, lines)
  const kept = new Set(busiest.map(([label]) => label))
  return measures.filter(measure => kept.has(labelOf(measure)))
}
