import type { PluginRoutes } from 'patchbay/contract'
import type { LogStore } from 'patchbay/features'
import { DURATION_KINDS } from 'patchbay/log-kit'
import { asksForOwn, durationField, rangeField, readRange, readStep, scopeField } from 'patchbay/plugin-kit'
import { z } from 'zod'
import { ofTagged, serverTag, type TaggedThings } from './tags.ts'

const HOUR_MS = 3_600_000
const MOST_ROWS = 100_000
/** Default steps of a range: the first entry whose range is not shorter applies. */
const STEPS: readonly (readonly [rangeMs: number, stepMs: number])[] = [
  [6 * HOUR_MS, 60_000],
  [7 * 24 * HOUR_MS, HOUR_MS],
  [Number.POSITIVE_INFINITY, 24 * HOUR_MS],
]
const types = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  prometheus: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

const example =
  'timestamp,kind,server,serverId,tool,count,errors,avg,min,max,p50,p95,p99\n' +
  '2026-11-22T09:29:00.000Z,tool_execution,time,01JD7C2M8K,now,12,0,8.2,7.9,9.1,8.1,9.1,9.1\n'

/** Adds the route of the stored metrics as a file. */
export function addExportRoute(
  routes: PluginRoutes,
  { store, ...things }: { readonly store: Pick<LogStore, 'for'> } & TaggedThings,
): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: '/api/monitoring/export',
    access: 'user',
    summary: 'Calls and response times over time, as JSON, CSV or OpenMetrics',
    tag: 'monitoring',
    query: z.strictObject({
      format: z.enum(['json', 'csv', 'prometheus']).default('json'),
      range: rangeField('24h'),
      step: durationField.optional().meta({ description: 'A multiple of 10s; by default 1m, 1h or 1d' }),
      tag: serverTag,
      scope: scopeField,
    }),
    answers: {
      200: {
        description:
          'A row for each step and tool, 100,000 at most. `count` of `tool_execution` is the number of tool calls that ' +
          'ended, without `server` that of calls that reached none; `errors` is the number of those with any outcome but ' +
          '`ok`. `api_requests` counts requests under `/api/`, with statuses from 500 as `errors`; `server_startup` counts starts',
        contentType: 'text/csv',
        example,
      },
    },
    async handle({ actor, query: { format, range, step, tag, scope } }) {
      const rangeMs = readRange(range)
      const stepMs =
        step === undefined
          ? (STEPS.find(([longest]) => rangeMs <= longest)?.[1] ?? HOUR_MS)
          : readStep('step', step, rangeMs)
      const question = { kinds: DURATION_KINDS, by: 'tool', rangeMs, stepMs, limit: MOST_ROWS } as const
      const mine = asksForOwn(actor, scope) ? { mine: true } : {}
      const of = await ofTagged(tag, actor, things)
      const text = await store.for(actor).export({ ...question, ...of, ...mine }, format)
      const name = `metrics.${format === 'prometheus' ? 'txt' : format}`
      return { text, type: types[format], headers: { 'content-disposition': `attachment; filename="${name}"` } }
    },
  })
}
