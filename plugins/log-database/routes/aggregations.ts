import type { PluginRoutes, RegistryView, UserActor } from 'patchbay/contract'
import type { Counted, CountQuery, LogStore, RecordCount } from 'patchbay/features'
import { CALL_OUTCOMES, durationText } from 'patchbay/log-kit'
import {
  asksForOwn,
  covered,
  durationField,
  rangeField,
  readRange,
  readStep,
  scopeField,
  serverLabels,
  timestamp,
} from 'patchbay/plugin-kit'
import { z } from 'zod'
import { ofTagged, serverTag, type TaggedThings } from './tags.ts'

/** Dependencies of the routes. */
export interface AggregationDeps extends TaggedThings {
  readonly store: Pick<LogStore, 'for'>
  readonly registry: Pick<RegistryView, 'server'>
}

const tag = 'logs'
/** Most rows of a summary: the largest. */
const MOST_ROWS = 1_000
/** Most numbers of a timeline: each point has one a level or server. */
const MOST_NUMBERS = 50_000
const LEVEL_NAMES: Readonly<Record<number, string>> = { 50: 'ERROR', 40: 'WARN', 30: 'INFO', 20: 'DEBUG', 10: 'TRACE' }

const count = z.number().int()
const covers = { from: timestamp, to: timestamp }
const server = { server: z.string().optional(), serverId: z.string().optional() }

const errors = z.object({
  ...covers,
  total: count.meta({ description: 'Records of level ERROR, and calls of any outcome but `ok`' }),
  by: z.enum(['server', 'tool', 'code', 'outcome']),
  items: z.array(
    z.object({
      ...server,
      ...{ tool: z.string().optional(), code: z.string().optional(), outcome: z.enum(CALL_OUTCOMES).optional() },
      count,
    }),
  ),
})
const requests = z.object({
  ...covers,
  total: count.meta({ description: 'Tool calls that ended, including those that reached no server' }),
  outcomes: z
    .partialRecord(z.enum(CALL_OUTCOMES), count)
    .meta({ description: 'The same calls by how they ended; an outcome without calls is left out' }),
  items: z.array(
    z.object({
      ...server,
      count: count.meta({ description: 'Calls that reached this server; without `server` those that reached none' }),
      errors: count.meta({ description: 'Those with any outcome but `ok`' }),
    }),
  ),
})
const timeline = z.object({
  ...covers,
  interval: z.string(),
  by: z.enum(['level', 'server', 'outcome']),
  points: z.array(
    z.object({
      timestamp,
      total: count.meta({ description: 'Log records; with `by=outcome` tool calls that ended' }),
      counts: z.record(z.string(), count),
    }),
  ),
})

const period = { from: '2026-11-22T08:30:00.000Z', to: '2026-11-22T09:30:00.000Z' }
const errorsExample = {
  ...period,
  total: 3,
  by: 'server',
  items: [{ server: 'time', serverId: '01JD7C0S11', count: 3 }],
}
const requestsExample = {
  ...period,
  total: 120,
  outcomes: { ok: 117, tool_error: 2, timeout: 1 },
  items: [{ server: 'time', serverId: '01JD7C0S11', count: 120, errors: 3 }],
}
const timelineExample = {
  ...period,
  interval: '1m',
  by: 'level',
  points: [{ timestamp: '2026-11-22T09:29:00.000Z', total: 21, counts: { INFO: 20, ERROR: 1 } }],
}

/** Adds the routes that count log records: also those that are not stored any more, or never were. */
export function addAggregationRoutes(routes: PluginRoutes, deps: AggregationDeps): void {
  routes.add({
    whole: true,
    method: 'GET',
    path: '/api/logs/aggregations/errors',
    access: 'user',
    summary: 'Number of errors: records of level ERROR, and calls of any outcome but ok',
    tag,
    query: z.strictObject({
      range: rangeField('24h'),
      by: z.enum(['server', 'tool', 'code', 'outcome']).default('server'),
      tag: serverTag,
      scope: scopeField,
    }),
    answers: { 200: { description: 'The largest first', schema: errors, example: errorsExample } },
    async handle({ actor, query }) {
      const found = await counted(deps, actor, { ...query, only: 'errors' })
      const items = found.counts.map(row => ({ ...named(row), count: row.count }))
      return { body: { ...covered(found), total: sum(found.counts), by: query.by, items } }
    },
  })
  routes.add({
    whole: true,
    method: 'GET',
    path: '/api/logs/aggregations/requests-by-server',
    access: 'user',
    summary: 'Number of calls of each server, of those that reached none, and by outcome',
    tag,
    query: z.strictObject({ range: rangeField('24h'), tag: serverTag, scope: scopeField }),
    answers: { 200: { description: 'The largest first', schema: requests, example: requestsExample } },
    async handle({ actor, query }) {
      const found = await counted(deps, actor, { ...query, only: 'calls', by: 'server' })
      const items = found.counts.map(row => ({ ...named(row), count: row.count, errors: row.failed }))
      const ended = await counted(deps, actor, { ...query, only: 'calls', by: 'outcome' })
      const outcomes = Object.fromEntries(ended.counts.flatMap(row => (row.outcome ? [[row.outcome, row.count]] : [])))
      return { body: { ...covered(found), total: sum(found.counts), outcomes, items } }
    },
  })
  routes.add({
    whole: true,
    method: 'GET',
    path: '/api/logs/aggregations/timeline',
    access: 'user',
    summary: 'Number of records over time',
    tag,
    query: z.strictObject({
      interval: durationField.default('1m').meta({ description: 'In steps of 10s' }),
      range: rangeField('1h'),
      by: z.enum(['level', 'server', 'outcome']).default('level').meta({
        description: '`outcome`: of calls of tools alone',
      }),
      tag: serverTag,
      scope: scopeField,
    }),
    answers: { 200: { description: 'A point for each interval', schema: timeline, example: timelineExample } },
    async handle({ actor, query }) {
      const stepMs = readStep('interval', query.interval, readRange(query.range))
      const found = await counted(deps, actor, {
        ...query,
        ...{ only: query.by === 'outcome' ? ('calls' as const) : ('all' as const), stepMs, limit: MOST_NUMBERS },
      })
      const labelOf = await serverLabels(
        { byId: deps.registry.server },
        actor,
        query.by === 'server' ? found.counts : [],
      )
      const points = pointsOf(found, stepMs, labelOf)
      return { body: { ...covered(found), interval: durationText(stepMs), by: query.by, points } }
    },
  })
}

type Asked = Pick<CountQuery, 'only' | 'by' | 'stepMs'> & {
  readonly range: string
  readonly scope?: 'mine' | 'all' | undefined
  readonly tag?: string | undefined
  readonly limit?: number
}

/** Throws `validation_failed` for a range, and as `storedRecords`. */
async function counted(
  deps: AggregationDeps,
  actor: UserActor,
  { range, scope, tag: wanted, limit = MOST_ROWS, only, by, stepMs }: Asked,
): Promise<Counted> {
  const rangeMs = readRange(range)
  const mine = asksForOwn(actor, scope)
  const of = await ofTagged(wanted, actor, deps)
  const query = { only, by, ...(stepMs === undefined ? {} : { stepMs }), ...of, ...(mine ? { mine } : {}) }
  return deps.store.for(actor).count({ ...query, rangeMs, limit })
}

/** Returns the fields that identify a row. A record of the hub itself has no server. */
function named({ serverId, server: name, tool, code, outcome }: RecordCount) {
  return {
    ...(serverId ? { server: name, serverId } : {}),
    ...(tool ? { tool } : {}),
    ...(code ? { code } : {}),
    ...(outcome ? { outcome } : {}),
  }
}

function sum(counts: readonly RecordCount[]): number {
  return counts.reduce((all, row) => all + row.count, 0)
}

/** A point for each step, also where nothing was counted. */
function pointsOf({ from, to, counts }: Counted, stepMs: number, labelOf: (row: RecordCount) => string) {
  const bySlot = Map.groupBy(counts, ({ slot }) => slot ?? 0)
  const points = []
  for (let at = from; at <= to; at += stepMs) {
    const own = bySlot.get(at) ?? []
    const numbers: Record<string, number> = {}
    for (const row of own) {
      const key = row.outcome ?? (row.level === undefined ? labelOf(row) : (LEVEL_NAMES[row.level] ?? ''))
      numbers[key] = (numbers[key] ?? 0) + row.count
    }
    points.push({ timestamp: new Date(at).toISOString(), total: sum(own), counts: numbers })
  }
  return points
}
