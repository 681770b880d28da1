import { excludesTimes, meets, type SearchedRecord, type TermExpression, termsFor } from '../domain/log/log-query.ts'
import { nameTerm } from '../domain/log/log-terms.ts'
import type { HistoryPage, HistoryQuery } from './protocol.ts'
import type { Segment } from './segment.ts'

/** After this time the answer is what there is. */
const BUDGET_MS = 150
/** More matches are not counted. */
const MOST_COUNTED = 10_000
/** The clock is read once in so many records. */
const LOOK_EVERY = 64

/** Members of an answered record that are not under `fields`. */
const OWN_MEMBERS = [
  ...['timestamp', 'level', 'message', 'server', 'tool', 'duration', 'status', 'requestId', 'userId'],
  ...[
    'component',
    'serverId',
    'group',
    'code',
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

/** Looks through the segments, the newest first (with `asc` the oldest). Terms find candidates, each is then judged. */
export function search(segments: readonly Segment[], query: HistoryQuery, budgetMs: number = BUDGET_MS): HistoryPage {
  const { order, limit, where, readers } = query
  const deadline = performance.now() + budgetMs
  const terms = withReaders(termsFor(where), readers)
  const items: string[] = []
  let total = 0
  let looked = 0
  /** Where the next page begins: behind the last record of this one. */
  let last: number | undefined
  const above = order === 'asc' ? (query.after ?? 0) : 0
  const below = order === 'desc' ? (query.after ?? Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER
  for (const segment of order === 'desc' ? segments.toReversed() : segments) {
    if (segment.records === 0 || segment.lastId <= above || segment.firstId >= below) continue
    if (excludesTimes(where, segment.times.least, segment.times.greatest)) continue
    for (const found of segment.find(terms, order, above, below)) {
      looked += 1
      const record = JSON.parse(found.record) as SearchedRecord
      if (mayRead(found.readers, readers) && meets(record, where)) {
        total += 1
        if (items.length < limit) {
          items.push(answered(record))
          last = found.id
        }
      } else if (items.length < limit) last = found.id
      const isOver = looked % LOOK_EVERY === 0 && performance.now() > deadline
      if (total >= MOST_COUNTED || isOver) return { items, total, totalIsExact: false, ...(last ? { next: last } : {}) }
    }
  }
  // With a cursor, what came before it was not counted.
  const totalIsExact = query.after === undefined
  return { items, total, totalIsExact, ...(total > items.length && last ? { next: last } : {}) }
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

/** The record as the API answers it: the members of its own kind under `fields`. */
function answered(record: SearchedRecord): string {
  const own: Record<string, unknown> = {}
  const fields: Record<string, unknown> = {}
  for (const name of OWN_MEMBERS) if (record[name] !== undefined) own[name] = record[name]
  for (const name in record) if (!OWN_MEMBERS.includes(name)) fields[name] = record[name]
  return JSON.stringify(Object.keys(fields).length > 0 ? { ...own, fields } : own)
}
