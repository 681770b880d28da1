import type { LogQuery, LogRecord } from './api.ts'
import { LEVELS, type Level } from './levels.ts'
import { conditionOf, meetsTerm, type ParsedQuery, parseQuery, type QueryTerm } from './query.ts'
import type { TaggedIds } from './tagged.ts'

/** Ranges of the page, with the steps of their histogram. */
export const RANGES = {
  '15m': { ms: 900_000, step: '30s', stepMs: 30_000 },
  '1h': { ms: 3_600_000, step: '1m', stepMs: 60_000 },
  '24h': { ms: 86_400_000, step: '30m', stepMs: 1_800_000 },
  '7d': { ms: 604_800_000, step: '3h', stepMs: 10_800_000 },
  '30d': { ms: 2_592_000_000, step: '12h', stepMs: 43_200_000 },
} as const
/** One of {@link RANGES}. */
export type Range = keyof typeof RANGES

/** Filters with a field of their own. */
export const FILTERS = ['server', 'tag', 'tool', 'outcome', 'user', 'requestId'] as const
/** One of {@link FILTERS}. */
export type Filter = (typeof FILTERS)[number]

/** Optional columns; time, level and message are always shown. */
export const COLUMNS = ['server', 'tool', 'component', 'status', 'outcome', 'requestId', 'duration'] as const
/** Outcomes of a tool call. */
export const OUTCOMES = [
  ...(['ok', 'tool_error', 'upstream_error', 'timeout', 'refused', 'blocked', 'cancelled'] as const),
]
/** One of {@link COLUMNS}. */
export type ColumnName = (typeof COLUMNS)[number]
const USUAL_COLUMNS: readonly ColumnName[] = ['server', 'duration']

/** The view of the page, as in the address. */
export interface LogView {
  readonly range: Range
  /** Part of the range that was chosen, in milliseconds since 1970. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly levels: readonly Level[]
  readonly filters: Partial<Readonly<Record<Filter, string>>>
  readonly text: string
  readonly parsed: ParsedQuery
  readonly columns: readonly ColumnName[]
  readonly wrap: boolean
  readonly tail: boolean
  readonly mine: boolean
}

/** Reads the view of an address. */
export function readView(query: URLSearchParams): LogView {
  const [from, to] = [readTime(query.get('from')), readTime(query.get('to'))]
  const levels = (query.get('levels') ?? query.get('level') ?? '').toUpperCase().split(',')
  const known = LEVELS.filter(level => levels.includes(level))
  const text = query.get('q') ?? ''
  const filters: Partial<Record<Filter, string>> = {}
  for (const name of FILTERS) {
    const value = query.get(name)?.trim().slice(0, 256)
    if (value) filters[name] = value
  }
  const columns = query.get('columns')?.split(',')
  return {
    ...{ range: readRange(query.get('range'), from), from, to, text, filters, parsed: parseQuery(text) },
    levels: known.length === 0 ? LEVELS : known,
    columns: columns ? COLUMNS.filter(name => columns.includes(name)) : USUAL_COLUMNS,
    wrap: query.get('wrap') === '1',
    tail: query.get('tail') === '1',
    mine: query.get('scope') === 'mine',
  }
}

function readTime(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

/** The named range, or the shortest one that reaches back to the chosen part of an older link. */
function readRange(text: string | null, from: number | undefined): Range {
  const names = Object.keys(RANGES) as Range[]
  const named = names.find(name => name === text) ?? '1h'
  const back = from === undefined ? 0 : Date.now() - from
  if (back <= RANGES[named].ms) return named
  return names.find(name => RANGES[name].ms >= back) ?? '30d'
}

/** The columns for the address; undefined: the usual ones. */
export function columnsText(columns: readonly ColumnName[]): string | undefined {
  const text = COLUMNS.filter(name => columns.includes(name)).join(',')
  return text === USUAL_COLUMNS.join(',') ? undefined : text || 'none'
}

/** A part of the query that excludes records, for finding the part that excludes all. */
export interface Part {
  readonly kind: 'levels' | 'time' | 'term' | Filter
  /** The term as written, the value of the filter. */
  readonly text: string
  readonly condition: LogQuery
  readonly term?: QueryTerm
}

/** The parts of the view's query. A search for a request covers all times, unless a range was chosen. */
export function partsOf(view: LogView, now = Date.now()): readonly Part[] {
  const { from, to, levels, filters, text, parsed } = view
  const parts: Part[] = []
  const first = from ?? (filters.requestId === undefined ? now - RANGES[view.range].ms : undefined)
  const times = [
    ...(first === undefined ? [] : [{ timestamp: { gte: new Date(first).toISOString() } }]),
    ...(to === undefined ? [] : [{ timestamp: { lt: new Date(to).toISOString() } }]),
  ]
  if (times.length > 0) parts.push({ kind: 'time', text: '', condition: { and: times } })
  if (levels.length < LEVELS.length) {
    parts.push({ kind: 'levels', text: levels.join(', '), condition: { level: { in: levels } } })
  }
  for (const name of FILTERS) {
    const value = filters[name]
    if (value !== undefined) parts.push({ kind: name, text: value, condition: { [name]: value } })
  }
  for (const term of parsed.terms) {
    parts.push({ kind: 'term', text: text.slice(term.start, term.end), condition: conditionOf(term), term })
  }
  return parts
}

/** The query of some parts. */
export function queryOf(parts: readonly Part[]): LogQuery {
  return { and: parts.map(({ condition }) => condition) }
}

/** True when a live record belongs into the view. `userIds`: ids of the user of the filter; `tagged`: of the things of its tags. */
export function shows(view: LogView, record: LogRecord, userIds: ReadonlySet<string>, tagged: TaggedIds): boolean {
  if (!view.levels.includes(record.level)) return false
  const { user, ...others } = view.filters
  if (user !== undefined && !(record.userId !== undefined && userIds.has(record.userId))) return false
  const terms = Object.entries(others).map(
    ([field, value]): QueryTerm => ({ field, op: 'eq', values: [value], excluded: false, start: 0, end: 0 }),
  )
  return [...terms, ...view.parsed.terms].every(term => meetsTerm(record, term, tagged))
}
