import type { UserActor } from '../../../contract/records.ts'
import type { Figure, Source, Unit } from '../../../domain/dashboards/sources.ts'
import type { SplitField, WidgetQuery } from '../../../domain/dashboards/widget-query.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import type { Measure } from '../../../features/log-store.ts'
import type { CustomMetrics } from '../../../telemetry/custom-metrics.ts'
import type { OverviewDeps } from '../monitoring/overview.ts'
import { type PerformanceDeps, serversOf } from '../monitoring/performance.ts'
import { serverLabels } from '../server-labels.ts'
import { storedRecords } from '../time-range.ts'
import { type TableDeps, tableOf } from './widget-tables.ts'

/** Sources of the data of widgets. */
export interface WidgetDeps extends TableDeps, Pick<OverviewDeps, 'mcp'>, Pick<PerformanceDeps, 'usage'> {
  readonly custom: Pick<CustomMetrics, 'value'>
}

/** The actor whose numbers are read, and the default time range. */
export interface Viewer {
  readonly actor: UserActor
  /** For administrators: true to read only the data that an ordinary user would see. */
  readonly mine: boolean
  readonly rangeMs: number
}

/** One number; null if there is none. */
export interface WidgetValue {
  readonly unit: Unit
  readonly value: number | null
}

/** Lines of points, each a time in ms since 1970 and a number, within `from` to `to`; a step without data is missing. */
export interface WidgetSeries {
  readonly unit: Unit
  readonly from: number
  readonly to: number
  readonly stepMs: number
  readonly series: readonly { readonly label: string; readonly points: readonly (readonly [number, number | null])[] }[]
}

/** Rows of cells; a column with a unit has numbers. */
export interface WidgetTable {
  readonly columns: readonly { readonly name: string; readonly unit?: Unit }[]
  readonly rows: readonly (readonly (string | number | null)[])[]
}

const POINTS = 120
/** Lines of one chart. */
const MOST_LINES = 10
const COUNTS: ReadonlySet<Figure> = new Set([
  'count',
  'failed',
  'rate',
  'error_ratio',
  'success_ratio',
  'avg',
  'min',
  'max',
])
const STEP_MS = 10_000
/** Steps that are read easily, in steps of 10 s: 10 s, 30 s, 1 m, 5 m, 15 m, 1 h, 3 h, 6 h, 1 d. */
const STEPS = [1, 3, 6, 30, 90, 360, 1_080, 2_160, 8_640]
/** Highest number of rows that are requested from the store. */
const MEASURES = 10_000

/** The single number of a query. */
export async function numberOf(deps: WidgetDeps, viewer: Viewer, query: WidgetQuery): Promise<WidgetValue> {
  const { source } = query
  if (source.from === 'durations') {
    const { measures, ms } = await measured(deps, viewer, query, source)
    return { unit: source.unit, value: figureOf(source.figure, measures[0], ms) }
  }
  if (source.from === 'log') {
    const { counts } = await counted(deps, viewer, query, source)
    return { unit: 'count', value: counts.reduce((sum, { count }) => sum + count, 0) }
  }
  return { unit: source.unit, value: (await nowOf(deps, viewer, query)) ?? null }
}

/** The lines of a query, the busiest first. */
export async function seriesOf(deps: WidgetDeps, viewer: Viewer, query: WidgetQuery): Promise<WidgetSeries> {
  const { source } = query
  const stepMs = Math.max(query.stepMs ?? 0, fittingStep(query.overMs ?? viewer.rangeMs))
  if (source.from === 'durations') {
    const { from, to, measures } = await measured(deps, viewer, query, source, stepMs)
    const serverOf = await serverLabels(deps.registry.servers, viewer.actor, measures)
    const lines = Map.groupBy(measures, ({ serverId, tool }) =>
      query.by === undefined ? '' : JSON.stringify([serverId, tool]),
    )
    const busiest = [...lines.values()].sort((a, b) => total(b) - total(a)).slice(0, query.limit)
    const series = busiest.map(points => ({
      label: query.by === undefined ? query.name : labelsOf(points[0], query.by, serverOf).join(' '),
      points: points.map(point => [point.slot ?? 0, figureOf(source.figure, point, stepMs)] as const),
    }))
    return { unit: source.unit, from, to, stepMs, series }
  }
  if (source.from !== 'log') throw new Error('Only what has a past is drawn')
  const { from, to, counts } = await counted(deps, viewer, query, source, stepMs)
  const slots = new Map<number, number>()
  for (const { slot = 0, count } of counts) slots.set(slot, (slots.get(slot) ?? 0) + count)
  const points = [...slots].sort(([a], [b]) => a - b)
  return { unit: 'count', from, to, stepMs, series: [{ label: query.name, points }] }
}

/** The rows of a query. */
export async function rowsOf(deps: WidgetDeps, viewer: Viewer, query: WidgetQuery): Promise<WidgetTable> {
  const { source, by } = query
  if (source.from !== 'durations' || by === undefined) {
    return tableOf(deps, { ...viewer, rangeMs: query.overMs ?? viewer.rangeMs }, query)
  }
  const { measures, ms } = await measured(deps, viewer, query, source)
  const columns = [{ name: 'server' }, ...(by === 'tool' ? [{ name: 'tool' }] : [])]
  const serverOf = await serverLabels(deps.registry.servers, viewer.actor, measures)
  const rows = measures
    .map(measure => ({ labels: labelsOf(measure, by, serverOf), value: figureOf(source.figure, measure, ms) }))
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0))
    .slice(0, query.limit)
  return {
    columns: [...columns, { name: query.name, unit: source.unit }],
    rows: rows.map(({ labels, value }) => [...labels, value]),
  }
}

async function measured(
  deps: WidgetDeps,
  { actor, mine, rangeMs }: Viewer,
  { server, tool, by, overMs, limit }: WidgetQuery,
  { kind, figure }: Extract<Source, { from: 'durations' }>,
  stepMs?: number,
) {
  const record = server === undefined ? undefined : await deps.registry.servers.resolve(actor, server, 'see')
  const { from, to, measures } = await storedRecords(deps, actor).measure({
    ...{ kinds: [kind], by: by ?? 'kind', rangeMs: overMs ?? rangeMs, limit: MEASURES, mine },
    ...(record ? { serverId: record.id } : {}),
    ...(tool === undefined ? {} : { tool }),
    countsOnly: COUNTS.has(figure),
    ...(stepMs === undefined ? {} : { stepMs, lines: Math.min(limit, MOST_LINES) }),
  })
  return { from, to, ms: to - from, measures }
}

function counted(
  deps: WidgetDeps,
  { actor, mine, rangeMs }: Viewer,
  { overMs }: WidgetQuery,
  { only }: Extract<Source, { from: 'log' }>,
  stepMs?: number,
) {
  const question = { only, by: 'level', rangeMs: overMs ?? rangeMs, limit: MEASURES, mine } as const
  const records = storedRecords(deps, actor)
  return records.count(stepMs === undefined ? question : { ...question, stepMs })
}

/** Null if nothing was measured, or the divisor is zero. */
function figureOf(figure: Figure, measure: Measure | undefined, ms: number): number | null {
  const { count, failed } = measure ?? { count: 0, failed: 0 }
  if (figure === 'count') return count
  if (figure === 'failed') return failed
  if (figure === 'rate') return rounded((count * 1_000) / ms)
  if (!measure) return null
  if (figure === 'error_ratio') return rounded(failed / count)
  if (figure === 'success_ratio') return rounded(1 - failed / count)
  const took = measure[`${figure}Ms`]
  return took === null ? null : rounded(took)
}

function rounded(value: number): number {
  return Number(value.toFixed(4))
}

function total(measures: readonly Measure[]): number {
  return measures.reduce((sum, { count }) => sum + count, 0)
}

function labelsOf(
  measure: Measure | undefined,
  by: SplitField,
  serverOf: (measure: Measure) => string,
): readonly string[] {
  if (!measure) return []
  return by === 'tool' ? [serverOf(measure), measure.tool ?? ''] : [serverOf(measure)]
}

/** The smallest of the readable steps that makes at most 120 points. */
function fittingStep(rangeMs: number): number {
  const least = rangeMs / POINTS / STEP_MS
  return (STEPS.find(steps => steps >= least) ?? STEPS.at(-1) ?? 1) * STEP_MS
}

async function nowOf(deps: WidgetDeps, viewer: Viewer, { name, overMs }: WidgetQuery): Promise<number | undefined> {
  const { actor, mine, rangeMs } = viewer
  const seesAll = isAdmin(actor) && !mine
  if (name.startsWith('custom.')) {
    return deps.custom.value(seesAll ? 'all' : actor.userId, name.slice('custom.'.length), overMs ?? rangeMs)
  }
  const servers = serversOf(deps, actor, mine)
  const usage = deps.usage()
  switch (name) {
    case 'servers_total':
      return servers.total
    case 'servers_online':
      return servers.online
    case 'servers_connecting':
      return servers.connecting
    case 'servers_offline':
      return servers.offline
    case 'tools_total':
      return deps.upstreams
        .states()
        .filter(({ ownerId }) => seesAll || ownerId === actor.userId)
        .reduce((sum, { serverId }) => sum + (deps.upstreams.catalog(serverId)?.tools.length ?? 0), 0)
    case 'sessions':
      return deps.mcp.sessions().filter(({ userId }) => seesAll || userId === actor.userId).length
    case 'alerts_firing':
      return (await deps.alerts.list(actor, { state: 'firing', limit: 1, offset: 0 })).total
    case 'cpu_usage':
      return usage.cpu
    case 'memory_usage':
      return usage.memory && usage.memory.used / usage.memory.total
    case 'disk_usage':
      return usage.disk && usage.disk.used / usage.disk.total
    default:
      return undefined
  }
}
