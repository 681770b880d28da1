import { wordIn } from '../spelling/words.ts'

/** Unit of a source's numbers: milliseconds, a part of 1, a number per second, or a count. */
export type Unit = 'ms' | 'ratio' | 'per_second' | 'count' | 'any'

/** Operations whose durations are measured. */
export type MeasuredKind = 'server_startup' | 'tool_execution' | 'api_requests'
/** A figure of the measured durations of one kind. */
export type Figure =
  | 'count'
  | 'failed'
  | 'rate'
  | 'error_ratio'
  | 'success_ratio'
  | 'avg'
  | 'min'
  | 'max'
  | 'p50'
  | 'p95'
  | 'p99'

/** Origin and unit of the numbers of a query. */
export type Source = {
  readonly unit: Unit
  /** Fields by which it can be filtered and split. */
  readonly fields: readonly ('server' | 'tool')[]
  /** True if values over time are available; otherwise only the present value is. */
  readonly overTime: boolean
} & (
  | { readonly from: 'durations'; readonly kind: MeasuredKind; readonly figure: Figure }
  | { readonly from: 'log'; readonly only: 'all' | 'errors' }
  | { readonly from: 'now' }
  | { readonly from: 'table' }
)

const OF_CALLS = ['server', 'tool'] as const
const OF_STARTS = ['server'] as const

const durations = (kind: MeasuredKind, figure: Figure, unit: Unit, fields: Source['fields']): Source => ({
  ...{ from: 'durations', kind, figure, unit, fields, overTime: true },
})
const log = (only: 'all' | 'errors'): Source => ({ from: 'log', only, unit: 'count', fields: [], overTime: true })
const now = (unit: Unit): Source => ({ from: 'now', unit, fields: [], overTime: false })
const table = (overTime: boolean, fields: Source['fields'] = []): Source => ({
  ...{ from: 'table', unit: 'any', fields, overTime },
})

const SOURCES: Readonly<Record<string, Source>> = {
  request_count: durations('tool_execution', 'count', 'count', OF_CALLS),
  request_rate: durations('tool_execution', 'rate', 'per_second', OF_CALLS),
  error_count: durations('tool_execution', 'failed', 'count', OF_CALLS),
  error_rate: durations('tool_execution', 'error_ratio', 'ratio', OF_CALLS),
  success_rate: durations('tool_execution', 'success_ratio', 'ratio', OF_CALLS),
  avg_response_time: durations('tool_execution', 'avg', 'ms', OF_CALLS),
  min_response_time: durations('tool_execution', 'min', 'ms', OF_CALLS),
  max_response_time: durations('tool_execution', 'max', 'ms', OF_CALLS),
  p50_response_time: durations('tool_execution', 'p50', 'ms', OF_CALLS),
  p95_response_time: durations('tool_execution', 'p95', 'ms', OF_CALLS),
  p99_response_time: durations('tool_execution', 'p99', 'ms', OF_CALLS),
  start_count: durations('server_startup', 'count', 'count', OF_STARTS),
  avg_start_time: durations('server_startup', 'avg', 'ms', OF_STARTS),
  p95_start_time: durations('server_startup', 'p95', 'ms', OF_STARTS),
  api_request_count: durations('api_requests', 'count', 'count', []),
  api_error_count: durations('api_requests', 'failed', 'count', []),
  avg_api_time: durations('api_requests', 'avg', 'ms', []),
  p95_api_time: durations('api_requests', 'p95', 'ms', []),
  record_count: log('all'),
  error_record_count: log('errors'),
  servers_total: now('count'),
  servers_online: now('count'),
  servers_connecting: now('count'),
  servers_offline: now('count'),
  tools_total: now('count'),
  sessions: now('count'),
  alerts_firing: now('count'),
  cpu_usage: now('ratio'),
  memory_usage: now('ratio'),
  disk_usage: now('ratio'),
  servers: table(true),
  tools: table(true, ['server']),
  users: table(true),
  errors: table(true),
  calls: table(true),
  alerts: table(false),
}

const CUSTOM = /^custom\.[a-z][a-z0-9_]{0,63}$/

/** The names of all sources; the last one represents any number that a user reports. */
export const SOURCE_NAMES: readonly string[] = [...Object.keys(SOURCES), 'custom.NAME']

/** The source of this name; undefined if there is none. */
export function sourceOf(name: string): Source | undefined {
  if (Object.hasOwn(SOURCES, name)) return SOURCES[name]
  return CUSTOM.test(name) ? { from: 'now', unit: 'any', fields: [], overTime: true } : undefined
}

/** The name of the source that a query means, in any letter case; undefined if there is none. */
export function sourceName(text: string): string | undefined {
  if (sourceOf(text)) return text
  return wordIn(Object.keys(SOURCES), text)
}
