import type { ExportFormat, Measure, Measured } from 'patchbay/features'
import { csvCell, type MetricFamily, prometheusText } from 'patchbay/log-kit'

const COLUMNS = [
  ...(['timestamp', 'kind', 'server', 'serverId', 'tool', 'count', 'errors'] as const),
  ...(['avg', 'min', 'max', 'p50', 'p95', 'p99'] as const),
] as const

type Row = Readonly<Record<(typeof COLUMNS)[number], string | number | null>>

/** Returns measures by step as a file. `limit`: the highest number of measures. */
export async function exportText(
  format: ExportFormat,
  { from, to, measures }: Measured,
  { stepMs, limit }: { readonly stepMs: number; readonly limit: number },
): Promise<string> {
  if (format === 'prometheus') return `${await prometheusText(familiesOf(measures))}# EOF\n`
  const rows = measures.map(rowOf)
  if (format === 'csv') return `${[COLUMNS.join(','), ...rows.map(lineOf)].join('\n')}\n`
  const covered = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  return `${JSON.stringify({ ...covered, stepMs, truncated: rows.length >= limit, items: rows })}\n`
}

function lineOf(row: Row): string {
  return COLUMNS.map(column => csvCell(row[column])).join(',')
}

function rowOf(measure: Measure): Row {
  const { slot = 0, kind, server, serverId, tool, count, failed: errors } = measure
  return {
    timestamp: new Date(slot).toISOString(),
    kind,
    server: server || null,
    serverId: serverId || null,
    tool: tool || null,
    ...{ count, errors },
    ...{ avg: rounded(measure.avgMs), min: rounded(measure.minMs), max: rounded(measure.maxMs) },
    ...{ p50: rounded(measure.p50Ms), p95: rounded(measure.p95Ms), p99: rounded(measure.p99Ms) },
  }
}

/** Each step is a sample with its time. Numbers of a step may fall, so that they are gauges. */
function* familiesOf(measures: readonly Measure[]): Generator<MetricFamily> {
  const family = (name: string, help: string, value: (measure: Measure) => number | null): MetricFamily => ({
    name: `export_${name}`,
    help,
    type: 'gauge',
    samples: bySeries(measures).flatMap(measure => {
      const { kind, server = '', serverId = '', tool = '', slot = 0 } = measure
      const labels = { kind, server, server_id: serverId, tool }
      const number = value(measure)
      return number === null ? [] : [{ labels, value: number, atSeconds: slot / 1_000 }]
    }),
  })
  yield family(
    'events',
    'Within a step by kind: tool calls that ended (tool_execution; without server those that reached none), starts of servers (server_startup), requests under /api/ (api_requests)',
    ({ count }) => count,
  )
  yield family(
    'errors',
    'Of these, calls with any outcome but ok, and API requests with a status from 500',
    ({ failed }) => failed,
  )
  yield family('duration_avg_seconds', 'Mean duration; of calls those that reached a server', ({ avgMs }) =>
    seconds(avgMs),
  )
  yield family(
    'duration_p95_seconds',
    '95th percentile of the duration; of calls those that reached a server',
    ({ p95Ms }) => seconds(p95Ms),
  )
  yield family(
    'duration_p99_seconds',
    '99th percentile of the duration; of calls those that reached a server',
    ({ p99Ms }) => seconds(p99Ms),
  )
}

/** Groups the samples by series, each in order of time. */
function bySeries(measures: readonly Measure[]): readonly Measure[] {
  const key = ({ kind, serverId, tool }: Measure): string => `${kind}\n${serverId}\n${tool}`
  return [...Map.groupBy(measures, key).values()].flat()
}

/** Milliseconds with two digits after the point. */
function rounded(ms: number | null): number | null {
  return ms === null ? null : Number(ms.toFixed(2))
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000
}
