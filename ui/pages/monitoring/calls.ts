import type { MetricStep, Metrics } from '../../api/monitoring.ts'
import type { ChartPoint, ChartSeries } from '../../components/chart/aligned.ts'
import type { ChartGap, ChartThreshold } from '../../components/chart/plot.ts'
import { t } from '../../text/t.ts'

/** A time range with the step of its points. */
export interface Range {
  readonly id: string
  readonly step: string
  readonly stepMs: number
}

const MINUTE_MS = 60_000

/** Ranges by their name in the address. */
export const RANGES: readonly Range[] = [
  { id: '1h', step: '1m', stepMs: MINUTE_MS },
  { id: '6h', step: '5m', stepMs: 5 * MINUTE_MS },
  { id: '24h', step: '15m', stepMs: 15 * MINUTE_MS },
  { id: '7d', step: '2h', stepMs: 120 * MINUTE_MS },
  { id: '30d', step: '6h', stepMs: 360 * MINUTE_MS },
]

/** The range of this name, or that of one hour. */
export function rangeOf(id: string | undefined): Range {
  return RANGES.find(range => range.id === id) ?? (RANGES[0] as Range)
}

/** Name of a range in the reader's language. */
export function rangeLabel(id: string): string {
  if (id === '1h') return t('1 h')
  if (id === '6h') return t('6 h')
  if (id === '24h') return t('24 h')
  return id === '7d' ? t('7 d') : t('30 d')
}

/** The calls of an answer as lines of charts. */
export interface CallLines {
  readonly calls: ChartSeries
  readonly failed: ChartSeries
  readonly times: readonly ChartSeries[]
  readonly gaps: readonly ChartGap[]
  readonly fromMs: number
  readonly toMs: number
}

/**
 * Lines of calls over time. A step without calls is zero while the hub was running, and unknown before its start: that gap
 * stays, with a band that states the reason.
 */
export function callLines({ from, to, series = [] }: Metrics, stepMs: number, startedAtMs: number): CallLines {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)]
  const steps = new Map(series.map(step => [Date.parse(step.timestamp), step]))
  const first = Math.floor(fromMs / stepMs) * stepMs
  const ranFromMs = Math.floor(startedAtMs / stepMs) * stepMs
  const calls: ChartPoint[] = []
  const failed: ChartPoint[] = []
  const times = { p99: [] as ChartPoint[], p95: [] as ChartPoint[], avg: [] as ChartPoint[] }
  for (let at = first; at <= toMs; at += stepMs) {
    const step = steps.get(at)
    calls.push([at, perMinute(step, stepMs, at >= ranFromMs)])
    failed.push([at, step && step.requests > 0 ? step.errors / step.requests : null])
    for (const name of ['p99', 'p95', 'avg'] as const) times[name].push([at, step?.[name] ?? null])
  }
  return {
    calls: { label: t('Calls'), points: calls, color: 1 },
    failed: { label: t('Error rate'), points: failed, color: 2, area: true },
    times: [
      { label: 'p99', points: times.p99, color: 4 },
      { label: 'p95', points: times.p95, color: 3 },
      { label: t('Average'), points: times.avg, color: 6 },
    ],
    gaps: gapsOf([...steps.keys()], first, ranFromMs, stepMs),
    ...{ fromMs, toMs },
  }
}

function perMinute(step: MetricStep | undefined, stepMs: number, ran: boolean): number | null {
  if (step) return (step.requests * MINUTE_MS) / stepMs
  return ran ? 0 : null
}

/** From the last step before the start of the hub to that start. */
function gapsOf(known: readonly number[], first: number, ranFromMs: number, stepMs: number): ChartGap[] {
  if (ranFromMs <= first) return []
  const before = known.filter(at => at < ranFromMs)
  if (before.length === 0) return [{ fromMs: first, toMs: ranFromMs, reason: t('no records') }]
  const last = Math.max(...before) + stepMs
  return last >= ranFromMs ? [] : [{ fromMs: last, toMs: ranFromMs, reason: t('before the restart') }]
}

/** A rule as far as its threshold can be drawn. */
export interface ThresholdRule {
  readonly name: string
  readonly condition: string
  readonly enabled?: boolean
}

/** Levels that rules compare this measure with, for the line that belongs to the alert. */
export function thresholdsOf(
  rules: readonly ThresholdRule[],
  measure: 'error_rate' | 'response_time',
): ChartThreshold[] {
  const pattern = new RegExp(`${measure}\\w*[^<>]*>=?\\s*([\\d.]+)\\s*(%|ms|s|m)?`)
  return rules.flatMap(({ name, condition, enabled }) => {
    const [, digits, unit] = pattern.exec(condition) ?? []
    const value = Number(digits)
    if (enabled === false || digits === undefined || !Number.isFinite(value)) return []
    const factor = { '%': 0.01, s: 1000, m: 60_000 }[unit ?? ''] ?? 1
    return [{ value: value * factor, name: t('alert “{name}”', { name }) }]
  })
}

/** Least, greatest and last value of a line, for the sentence that describes its picture. */
export function extentOf({
  points,
}: ChartSeries): { readonly least: number; readonly most: number; readonly last: number } | undefined {
  const values = points.flatMap(([, value]) => value ?? [])
  const last = values.at(-1)
  if (last === undefined) return undefined
  return { least: Math.min(...values), most: Math.max(...values), last }
}
