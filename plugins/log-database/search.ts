import type { RecordPage } from 'patchbay/features'
import { callsOf, durationText } from 'patchbay/log-kit'
import type { Found, Segment } from './files/segment.ts'
import { nameTerm } from './log-terms.ts'
import type { HistoryQuery } from './protocol.ts'
import { excludesTimes, matches, type SearchedRecord, type TermExpression, termsFor } from './record-terms.ts'

/** After this time the answer is what there is. */
const BUDGET_MS = 150
/** More matches are not counted. */
const MOST_COUNTED = 10_000
/** Number of records after which the clock is read again. */
const CLOCK_EVERY = 64

/** Members of an answered record that are not under `fields`. */
const OWN_MEMBERS = [
  ...['timestamp', 'level', 'message', 'server', 'tool', 'duration', 'status', 'requestId', 'userId'],
  ...[
    'component',
    'serverId',
    'group',
    'groupId',
    'code',
    'outcome',
    'error',
    'note',
    'plugin',
    'clientName',
    'clientVersion',
    'keyLabel',
    'traceId',
    'keyId',
    'client',
    'method',
    'path',
    'bytes',
    'era',
    'logger',
  ],
  'stream',
]
/** Members of a record of several calls. */
const OF_MANY_CALLS = ['count', 'errors', 'outcomes', 'durationTotal']

/** Builds one page of the records that terms have found, in their order; each is checked. */
export class PageMaker {
  /** Terms that matching records must have; undefined: terms cannot narrow the search. */
  readonly terms: TermExpression | undefined
  readonly #query: HistoryQuery
  readonly #deadline: number
  readonly #items: string[] = []
  #total = 0
  #calls = 0
  #checked = 0
  readonly #steps = new Map<number, Record<string, number>>()
  /** Id after which the next page begins: that of the last record of this page. */
  #last: number | undefined
  #isCut = false

  constructor(query: HistoryQuery, budgetMs: number = BUDGET_MS) {
    this.#query = query
    this.#deadline = performance.now() + budgetMs
    this.terms = withReaders(termsFor(query.where), query.readers)
  }

  /** Adds the next record; false: no more are needed. */
  take(found: Found): boolean {
    const { limit, where, readers } = this.#query
    this.#checked += 1
    const record = visible(JSON.parse(found.record) as SearchedRecord, readers)
    const isMatch = mayRead(found.readers, readers) && matches(record, where)
    if (this.#items.length < limit) {
      this.#last = found.id
      if (isMatch) this.#items.push(answered(record))
    }
    if (isMatch) this.#count(record)
    this.#isCut = this.#total >= MOST_COUNTED || (this.#checked % CLOCK_EVERY === 0 && this.isOver)
    return !this.#isCut
  }

  #count(record: SearchedRecord): void {
    const { timestamp, level } = record
    const calls = callsOf(record)
    this.#total += 1
    this.#calls += calls
    const { stepMs } = this.#query
    if (stepMs === undefined) return
    const at = Math.floor(Date.parse(timestamp) / stepMs) * stepMs
    const counts = this.#steps.get(at) ?? {}
    counts[String(level)] = (counts[String(level)] ?? 0) + calls
    this.#steps.set(at, counts)
  }

  /** True when the time for this page has passed. */
  get isOver(): boolean {
    return performance.now() > this.#deadline
  }

  /** `isWhole`: there are no further records. */
  page(isWhole = !this.#isCut): RecordPage {
    const [items, total, calls] = [this.#items, this.#total, this.#calls]
    const { stepMs } = this.#query
    const histogram = stepMs === undefined ? {} : { histogram: histogramText(this.#steps, stepMs) }
    if (!isWhole) return pageOf({ items, total, calls, totalIsExact: false, ...histogram }, this.#last)
    // With a cursor, the records before it were not counted.
    const totalIsExact = this.#query.after === undefined
    return pageOf({ items, total, calls, totalIsExact, ...histogram }, total > items.length ? this.#last : undefined)
  }
}

/** Steps with a match, the oldest first. */
function histogramText(steps: ReadonlyMap<number, Readonly<Record<string, number>>>, stepMs: number): string {
  const points = [...steps]
    .sort(([a], [b]) => a - b)
    .map(([at, counts]) => ({
      timestamp: new Date(at).toISOString(),
      total: Object.values(counts).reduce((sum, count) => sum + count, 0),
      counts,
    }))
  return JSON.stringify({ interval: durationText(stepMs), points })
}

/** Looks through the segments, the newest first (with `asc` the oldest). Terms find candidates, each is then checked. */
export function search(segments: readonly Segment[], query: HistoryQuery, budgetMs: number = BUDGET_MS): RecordPage {
  const maker = new PageMaker(query, budgetMs)
  for (const found of candidates(segments, maker.terms, query)) if (!maker.take(found)) break
  return maker.page()
}

function pageOf(found: Omit<RecordPage, 'next'>, next: number | undefined): RecordPage {
  return next === undefined ? found : { ...found, next }
}

/** The rows that have the terms, after the cursor, of the segments that can contain matches. */
function* candidates(
  segments: readonly Segment[],
  terms: TermExpression | undefined,
  { order, after, where }: HistoryQuery,
) {
  const above = order === 'asc' ? (after ?? 0) : 0
  const below = order === 'desc' ? (after ?? Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER
  for (const segment of order === 'desc' ? segments.toReversed() : segments) {
    if (segment.records === 0 || segment.lastId <= above || segment.firstId >= below) continue
    if (!excludesTimes(where, segment.times.least, segment.times.greatest))
      yield* segment.find(terms, order, above, below)
  }
}

function withReaders(terms: TermExpression | undefined, readers: HistoryQuery['readers']): TermExpression | undefined {
  if (readers === 'all') return terms
  const any = { any: readers.map(id => nameTerm('r', id)) }
  return terms === undefined ? any : { all: [any, terms] }
}

/** Two ids can share a term: what counts is the list on the row. */
function mayRead(stored: string, readers: HistoryQuery['readers']): boolean {
  if (readers === 'all') return true
  const ids = stored.split(',')
  return readers.some(id => ids.includes(id))
}

/** Fields that identify a caller. */
const OF_THE_CALLER = ['client', 'clientName', 'clientVersion', 'keyId', 'keyLabel'] as const

/** A caller's address, program and key are its own and administrators': the owner of the server neither sees nor finds them. */
function visible(record: SearchedRecord, readers: HistoryQuery['readers']): SearchedRecord {
  const { userId } = record
  if (readers === 'all' || typeof userId !== 'string' || readers.includes(userId)) return record
  const rest: Record<string, unknown> = { ...record }
  for (const name of OF_THE_CALLER) delete rest[name]
  return rest as SearchedRecord
}

/** The record as the API answers it: the members of its own kind under `fields`. */
function answered(record: SearchedRecord): string {
  const own: Record<string, unknown> = {}
  const fields: Record<string, unknown> = {}
  const members = callsOf(record) > 1 ? [...OWN_MEMBERS, ...OF_MANY_CALLS] : OWN_MEMBERS
  for (const name of members) if (record[name] !== undefined) own[name] = record[name]
  for (const name in record) if (!members.includes(name)) fields[name] = record[name]
  return JSON.stringify(Object.keys(fields).length > 0 ? { ...own, fields } : own)
}
