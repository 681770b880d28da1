import { wordIn } from '../spelling/words.ts'

/** Dimension of a metric's values. They are kept in the base unit: ms, a ratio of 0 to 1, per second, bytes. */
export type Dimension = 'ratio' | 'time' | 'rate' | 'count' | 'state' | 'any'

/** One metric that a condition may name. */
export interface MetricInfo {
  readonly dimension: Dimension
  /** Evaluated over a window such as `[5m]`; the others are evaluated as they are now. */
  readonly windowed: boolean
  /** True if it has one value for all servers together, whatever the rule's `per` is. */
  readonly global: boolean
}

const METRICS: Readonly<Record<string, MetricInfo>> = {
  error_rate: { dimension: 'ratio', windowed: true, global: false },
  success_rate: { dimension: 'ratio', windowed: true, global: false },
  avg_response_time: { dimension: 'time', windowed: true, global: false },
  p50_response_time: { dimension: 'time', windowed: true, global: false },
  p95_response_time: { dimension: 'time', windowed: true, global: false },
  p99_response_time: { dimension: 'time', windowed: true, global: false },
  request_rate: { dimension: 'rate', windowed: true, global: false },
  request_count: { dimension: 'count', windowed: true, global: false },
  error_count: { dimension: 'count', windowed: true, global: false },
  server_status: { dimension: 'state', windowed: false, global: false },
  servers_offline: { dimension: 'count', windowed: false, global: true },
  restarts: { dimension: 'count', windowed: true, global: false },
  health_failures: { dimension: 'count', windowed: true, global: false },
  log_count: { dimension: 'count', windowed: true, global: false },
  dropped_records: { dimension: 'count', windowed: true, global: true },
  cpu_usage: { dimension: 'ratio', windowed: true, global: true },
  memory_usage: { dimension: 'ratio', windowed: false, global: true },
  disk_usage: { dimension: 'ratio', windowed: false, global: true },
  event_loop_lag: { dimension: 'time', windowed: true, global: true },
}

const CUSTOM: MetricInfo = { dimension: 'any', windowed: true, global: true }

/** A number of a plugin, such as `orders.late`. */
const OF_PLUGIN: MetricInfo = { dimension: 'any', windowed: false, global: false }

/** The names of all metrics but the custom ones, and those of plugins. */
export const METRIC_NAMES: readonly string[] = Object.keys(METRICS)

/** True for the form of the names of plugins' metrics. Whether a plugin has it is known at run time alone. */
export function isPluginMetric(name: string): boolean {
  return /^(?!custom\.)[a-z][a-z0-9_]{0,63}\.[a-z][a-z0-9_]{0,63}$/.test(name)
}

/** The metric of this name; `custom.<name>` and names of plugins' metrics always are. Undefined for any other. */
export function metricInfo(name: string): MetricInfo | undefined {
  if (Object.hasOwn(METRICS, name)) return METRICS[name]
  if (isPluginMetric(name)) return OF_PLUGIN
  return /^custom\.[a-z][a-z0-9_]{0,63}$/.test(name) ? CUSTOM : undefined
}

/** The name of the metric that a condition means: `errorRate` is `error_rate`. Undefined if there is no such metric. */
export function metricName(text: string): string | undefined {
  return metricInfo(text) ? text : wordIn(METRIC_NAMES, text)
}

/** The units of a condition, with their factor to the base unit and the dimensions that they fit. */
export const UNITS: Readonly<Record<string, { readonly factor: number; readonly of: readonly Dimension[] }>> = {
  '%': { factor: 0.01, of: ['ratio', 'any'] },
  ms: { factor: 1, of: ['time', 'any'] },
  s: { factor: 1_000, of: ['time', 'any'] },
  m: { factor: 60_000, of: ['time', 'any'] },
  '/s': { factor: 1, of: ['rate', 'any'] },
  '/m': { factor: 1 / 60, of: ['rate', 'any'] },
  MB: { factor: 1e6, of: ['any'] },
  GB: { factor: 1e9, of: ['any'] },
}

/** True when a number can be a value of this dimension, in its base unit. */
export function inRange(dimension: Dimension, value: number): boolean {
  if (dimension === 'any') return Number.isFinite(value)
  return Number.isFinite(value) && value >= 0 && (dimension !== 'ratio' || value <= 1)
}
