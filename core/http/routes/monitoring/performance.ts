import { z } from 'zod'
import type { Upstreams } from '../../../connections/api.ts'
import type { ServerRecord, UserActor } from '../../../contract/records.ts'
import { durationText } from '../../../domain/duration.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import { percentText, sizeText } from '../../../domain/size.ts'
import type { Measure } from '../../../features/log-store.ts'
import type { Registry } from '../../../registry/api.ts'
import type { CustomMetrics } from '../../../telemetry/custom-metrics.ts'
import { DURATION_KINDS } from '../../../telemetry/duration-series.ts'
import type { SystemUsage } from '../../../telemetry/system-usage.ts'
import { type Route, route } from '../../route.ts'
import { timestamp } from '../schemas.ts'
import {
  asksForOwn,
  covered,
  durationField,
  rangeField,
  readRange,
  readStep,
  type StoredDeps,
  scopeField,
  storedRecords,
} from '../time-range.ts'
import { qualified } from '../views.ts'

/** Dependencies of the routes of response times. */
export interface PerformanceDeps extends StoredDeps {
  readonly registry: Pick<Registry, 'servers'>
  readonly upstreams: Pick<Upstreams, 'states'>
  readonly usage: () => SystemUsage
  readonly custom: Pick<CustomMetrics, 'list'>
  /** Value of `performance.now()` at the start. */
  readonly startedAtMs: number
}

/** Names of users' own numbers in one answer. */
const MOST_CUSTOM_NAMES = 1_000

const number = z.number()
const count = z.number().int()
const ms = number.nullable().meta({ description: 'Milliseconds; null: nothing was measured' })
const times = z.object({ avg: ms, p95: ms, p99: ms })

const snapshot = z.object({
  timestamp,
  from: timestamp,
  to: timestamp,
  server: z.string().optional(),
  metrics: z.object({
    requests: z.object({
      total: count.meta({
        description:
          'Tool calls that ended, including those that reached no server; with `server` those that reached it',
      }),
      success: count.meta({ description: 'Those with the outcome `ok`' }),
      errors: count.meta({ description: 'Those with any outcome but `ok`' }),
      rate: number.meta({ description: '`total` divided by the seconds of the range' }),
    }),
    servers: z.object({ online: count, connecting: count, offline: count, total: count }),
    performance: z
      .object({ avgResponseTime: ms, p95ResponseTime: ms, p99ResponseTime: ms })
      .meta({ description: 'Response times of calls that reached a server' }),
    system: z.object({ memoryUsage: z.string(), cpuUsage: z.string(), uptime: z.string() }),
  }),
  responseTimeMetrics: z.object({
    server_startup: times.meta({ description: 'From the attempt to connect until the lists of the server were read' }),
    tool_execution: times.meta({ description: 'Of calls that reached a server, as in `performance`' }),
    api_requests: times.meta({ description: 'Of requests under `/api/` of the whole hub, without `/api/stream`' }),
  }),
  custom: z.record(z.string(), number).optional().meta({
    description: 'Numbers that you report, by name; for administrators those of all users, summed. Not with `server`',
  }),
  series: z
    .array(
      z.object({
        timestamp,
        requests: count.meta({ description: 'As `metrics.requests.total`, within the step' }),
        errors: count.meta({ description: 'As `metrics.requests.errors`, within the step' }),
        ...{ avg: ms, p95: ms, p99: ms },
      }),
    )
    .optional()
    .meta({ description: 'With `step`: tool calls over time; a step without calls is missing' }),
})

const none = { avg: null, p95: null, p99: null }
const example = {
  timestamp: '2026-11-22T09:30:00.000Z',
  from: '2026-11-22T08:30:00.000Z',
  to: '2026-11-22T09:30:00.000Z',
  metrics: {
    requests: { total: 120, success: 117, errors: 3, rate: 0.03 },
    servers: { online: 19, connecting: 0, offline: 1, total: 20 },
    performance: { avgResponseTime: 12.4, p95ResponseTime: 31.2, p99ResponseTime: 88.1 },
    system: { memoryUsage: '87.2 MB', cpuUsage: '12.5%', uptime: '2d3h12m' },
  },
  responseTimeMetrics: {
    server_startup: { avg: 812.5, p95: 1_900.2, p99: 1_900.2 },
    tool_execution: { avg: 12.4, p95: 31.2, p99: 88.1 },
    api_requests: none,
  },
  custom: { tool_usage_search: 12 },
}

/** The specification's snapshot of metrics. */
export function performanceRoutes(deps: PerformanceDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/monitoring/metrics',
      access: 'user',
      summary: 'Calls of your servers and calls that you made, or those of one server, with response times',
      tag: 'monitoring',
      query: z.strictObject({
        server: z.string().min(1).max(256).optional().meta({ description: '`name` or `owner~name`' }),
        range: rangeField('1h'),
        step: durationField.optional().meta({ description: 'A multiple of 10s: adds `series`' }),
        scope: scopeField,
      }),
      responses: { 200: { description: 'The metrics', schema: snapshot, example } },
      async handle({ actor, query: { server: ref, range, step, scope } }) {
        const rangeMs = readRange(range)
        const stepMs = step === undefined ? undefined : readStep('step', step, rangeMs)
        const record = ref === undefined ? undefined : await deps.registry.servers.resolve(actor, ref, 'see')
        const mine = asksForOwn(actor, scope)
        const ofServer = record ? { serverId: record.id, ...seenSums(actor, record) } : {}
        const filter = { rangeMs, ...ofServer, ...(mine ? { mine } : {}) }
        const records = storedRecords(deps, actor)
        const { from, to, measures } = await records.measure({
          ...filter,
          kinds: DURATION_KINDS,
          by: 'kind',
          limit: 10,
        })
        const steps =
          stepMs === undefined
            ? undefined
            : await records.measure({ ...filter, kinds: ['tool_execution'], by: 'kind', stepMs, limit: 10_001 })
        const of = new Map(measures.map(measure => [measure.kind, measure]))
        const calls = of.get('tool_execution')
        return {
          body: {
            timestamp: new Date().toISOString(),
            ...covered({ from, to }),
            ...(record ? { server: qualified(record) } : {}),
            metrics: {
              requests: requestsOf(calls, to - from),
              servers: serversOf(deps, actor, mine, record?.id),
              performance: {
                avgResponseTime: shown(calls?.avgMs),
                p95ResponseTime: shown(calls?.p95Ms),
                p99ResponseTime: shown(calls?.p99Ms),
              },
              system: systemOf(deps),
            },
            responseTimeMetrics: Object.fromEntries(DURATION_KINDS.map(kind => [kind, timesOf(of.get(kind))])),
            ...customOf(deps, actor, mine, record?.id),
            ...(steps ? { series: steps.measures.map(pointOf) } : {}),
          },
        }
      },
    }),
  ]
}

/** Metrics reported by users, by name; summed over labels and, for administrators, over owners. */
function customOf({ custom }: Pick<PerformanceDeps, 'custom'>, actor: UserActor, mine: boolean, serverId?: string) {
  if (serverId !== undefined) return {}
  const sums = new Map<string, number>()
  for (const { name, value } of custom.list(isAdmin(actor) && !mine ? 'all' : actor.userId)) {
    if (sums.has(name) || sums.size < MOST_CUSTOM_NAMES) sums.set(name, (sums.get(name) ?? 0) + value)
  }
  return { custom: Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1))) }
}

/** Tool calls, with their rate a second over this time. */
export function requestsOf(calls: Measure | undefined, ms: number) {
  const { count: total, failed: errors } = calls ?? { count: 0, failed: 0 }
  return { total, success: total - errors, errors, rate: rounded((total * 1_000) / ms, 4) }
}

/** Counts the servers that the actor may request, by state. */
export function serversOf(
  { upstreams }: Pick<PerformanceDeps, 'upstreams'>,
  actor: UserActor,
  mine: boolean,
  only?: string,
) {
  const all = isAdmin(actor) && !mine
  const counts = { online: 0, connecting: 0, offline: 0, total: 0 }
  for (const { serverId, ownerId, state } of upstreams.states()) {
    if (only === undefined ? !all && ownerId !== actor.userId : serverId !== only) continue
    counts[state] += 1
    counts.total += 1
  }
  return counts
}

/** Milliseconds with two digits after the point; null if there is no number. */
export function shown(value: number | null | undefined): number | null {
  return value === undefined || value === null ? null : rounded(value, 2)
}

function timesOf(measure: Measure | undefined) {
  return measure ? { avg: shown(measure.avgMs), p95: shown(measure.p95Ms), p99: shown(measure.p99Ms) } : none
}

function pointOf(measure: Measure) {
  const { slot = 0, count: requests, failed: errors } = measure
  return { timestamp: new Date(slot).toISOString(), requests, errors, ...timesOf(measure) }
}

function systemOf({ usage, startedAtMs }: PerformanceDeps) {
  const upMs = performance.now() - startedAtMs
  // Whole minutes, but seconds in the first one.
  const unitMs = upMs < 60_000 ? 1_000 : 60_000
  return {
    memoryUsage: sizeText(process.memoryUsage.rss()),
    cpuUsage: percentText(usage().ownCpu),
    uptime: durationText(Math.floor(upMs / unitMs) * unitMs),
  }
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

/** Users with the role `see` get the sums of all calls of a server, as its owner does. */
function seenSums({ userId, role }: UserActor, { ownerId }: ServerRecord): { readonly ofOwner?: string } {
  return role === 'admin' || ownerId === userId ? {} : { ofOwner: ownerId }
}
