import { z } from 'zod'
import type { Alerts } from '../../../alerts/create.ts'
import type { Upstreams } from '../../../connections/api.ts'
import type { FieldError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import type { Measure, StoredRecords } from '../../../features/log-store.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { Registry } from '../../../registry/api.ts'
import { pauses } from '../../../store/pauses.ts'
import type { SinkState } from '../../../telemetry/log-feed.ts'
import { type Route, route } from '../../route.ts'
import { anyObject, timestamp } from '../schemas.ts'
import {
  asksForOwn,
  covered,
  rangeField,
  readRange,
  type StoredDeps,
  scopeField,
  storedRecords,
} from '../time-range.ts'
import { qualified } from '../views.ts'
import { requestsOf, serversOf, shown } from './performance.ts'

/** Dependencies of the route. */
export interface OverviewDeps extends StoredDeps {
  readonly registry: Pick<Registry, 'servers' | 'users'>
  readonly upstreams: Pick<Upstreams, 'states' | 'status' | 'catalog'>
  readonly mcp: Pick<McpEndpoint, 'sessions'>
  readonly alerts: Pick<Alerts, 'list' | 'rules'>
  readonly plugins: { list(): readonly (Fault & { readonly name: string; readonly state: string })[] }
  readonly logging: { sinks(): readonly SinkState[] }
  readonly fileProblems: () => readonly FieldError[]
}

/** Rows of each list of the most used. */
const TOP = 5
const MOST_ALERTS = 10
const MOST_ATTENTION = 100
/** A server that is offline for one of these is not in need of anybody. */
const RESTING: ReadonlySet<string> = new Set(['stopped', 'idle', 'owner_disabled'])

const count = z.number().int()
const errors = count.meta({ description: 'Those with any outcome but `ok`' })
const ofServer = { requests: count.meta({ description: 'Calls that ended and reached this server' }), errors }
const ofTool = { requests: count.meta({ description: 'Calls of this tool that ended and reached its server' }), errors }
const ofUser = {
  requests: count.meta({ description: 'Calls of this user that ended, including those that reached no server' }),
  errors,
}
const ms = z
  .number()
  .nullable()
  .meta({ description: 'Milliseconds, of calls that reached a server; null: nothing was measured' })
const attention = z.object({
  kind: z.enum([
    'server_offline',
    'server_failing',
    'rule_failing',
    'sink_failing',
    'plugin_failed',
    'settings_problem',
  ]),
  subject: z.string().meta({ description: 'The server, rule, sink, plugin, or the place in the settings file' }),
  code: z.string().optional().meta({ description: 'Stable code of what is wrong, where the hub knows one' }),
  message: z.string(),
  since: timestamp.optional(),
})
const overview = z.object({
  timestamp,
  from: timestamp,
  to: timestamp,
  servers: z.object({ online: count, connecting: count, offline: count, total: count }),
  tools: count.meta({ description: 'Tools that your servers list; for administrators those of all servers' }),
  sessions: count.meta({ description: 'Your open MCP sessions; for administrators those of all users' }),
  calls: z.object({
    total: count.meta({ description: 'Tool calls that ended, including those that reached no server' }),
    success: count.meta({ description: 'Those with the outcome `ok`' }),
    errors,
    rate: z.number().meta({ description: '`total` divided by the seconds of the range' }),
    errorRate: z.number().nullable().meta({ description: '`errors` divided by `total`; null: no calls' }),
    avg: ms,
    p95: ms,
    p99: ms,
  }),
  topServers: z.array(z.object({ server: z.string(), serverId: z.string(), ...ofServer, avg: ms })),
  topTools: z.array(z.object({ server: z.string(), serverId: z.string(), tool: z.string(), ...ofTool, avg: ms })),
  topUsers: z.array(z.object({ user: z.string(), userId: z.string(), ...ofUser })),
  alerts: z.object({ firing: count, items: z.array(anyObject) }),
  attention: z.array(attention),
})

const example = {
  timestamp: '2026-11-22T09:30:00.000Z',
  from: '2026-11-22T08:30:00.000Z',
  to: '2026-11-22T09:30:00.000Z',
  servers: { online: 19, connecting: 0, offline: 1, total: 20 },
  tools: 112,
  sessions: 3,
  calls: { total: 120, success: 117, errors: 3, rate: 0.0333, errorRate: 0.025, avg: 12.4, p95: 31.2, p99: 88.1 },
  topServers: [{ server: 'time', serverId: '01JD7C2M8K', requests: 100, errors: 3, avg: 11.9 }],
  topTools: [{ server: 'time', serverId: '01JD7C2M8K', tool: 'now', requests: 90, errors: 0, avg: 8.2 }],
  topUsers: [{ user: 'ada', userId: '01JD7C0A11', requests: 120, errors: 3 }],
  alerts: { firing: 0, items: [] },
  attention: [{ kind: 'server_offline', subject: 'ada~web', message: 'connection refused' }],
}

/** One page of all that matters now. */
export function overviewRoutes(deps: OverviewDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/monitoring/overview',
      access: 'user',
      summary: 'Servers, calls, the most used, alerts, and what needs somebody’s attention',
      tag: 'monitoring',
      query: z.strictObject({ range: rangeField('1h'), scope: scopeField }),
      responses: { 200: { description: 'The overview', schema: overview, example } },
      async handle({ actor, query: { range, scope } }) {
        const mine = asksForOwn(actor, scope)
        const rangeMs = readRange(range)
        const records = storedRecords(deps, actor)
        const filter = { rangeMs, ...(mine ? { mine } : {}) }
        const [firing, needs] = await Promise.all([
          deps.alerts.list(actor, { state: 'firing', limit: MOST_ALERTS, offset: 0 }),
          attentionOf(deps, actor, mine),
        ])
        return {
          body: {
            timestamp: new Date().toISOString(),
            servers: serversOf(deps, actor, mine),
            tools: toolsOf(deps, actor, mine),
            sessions: deps.mcp.sessions().filter(({ userId }) => seesAll(actor, mine) || userId === actor.userId)
              .length,
            ...(await callsOf(records, filter)),
            topUsers: await topUsers(deps, records, filter),
            alerts: { firing: firing.total, items: firing.items },
            attention: needs.slice(0, MOST_ATTENTION),
          },
        }
      },
    }),
  ]
}

type Asked = { readonly rangeMs: number; readonly mine?: true }

function seesAll(actor: UserActor, mine: boolean): boolean {
  return isAdmin(actor) && !mine
}

function toolsOf({ upstreams }: OverviewDeps, actor: UserActor, mine: boolean): number {
  return upstreams
    .states()
    .filter(({ ownerId }) => seesAll(actor, mine) || ownerId === actor.userId)
    .reduce((sum, { serverId }) => sum + (upstreams.catalog(serverId)?.tools.length ?? 0), 0)
}

async function callsOf(records: StoredRecords, filter: Asked) {
  const question = { ...filter, kinds: ['tool_execution'] as const }
  const { from, to, measures } = await records.measure({ ...question, by: 'kind', limit: 1 })
  const servers = await records.measure({ ...question, by: 'server', limit: TOP + 1 })
  const tools = await records.measure({ ...question, by: 'tool', limit: TOP + 1 })
  const [all] = measures
  return {
    ...covered({ from, to }),
    calls: {
      ...requestsOf(all, to - from),
      errorRate: all ? Number((all.failed / all.count).toFixed(4)) : null,
      ...{ avg: shown(all?.avgMs), p95: shown(all?.p95Ms), p99: shown(all?.p99Ms) },
    },
    topServers: top(servers.measures).map(({ server = '', serverId = '', ...numbers }) => ({
      ...{ server, serverId },
      ...useOf(numbers),
    })),
    topTools: top(tools.measures).map(({ server = '', serverId = '', tool = '', ...numbers }) => ({
      ...{ server, serverId, tool },
      ...useOf(numbers),
    })),
  }
}

/** Rows beyond the limits of the store are counted without a server. */
function top(measures: readonly Measure[]): readonly Measure[] {
  return measures.filter(({ serverId }) => serverId !== '').slice(0, TOP)
}

function useOf({ count: requests, failed: errors, avgMs }: Pick<Measure, 'count' | 'failed' | 'avgMs'>) {
  return { requests, errors, avg: shown(avgMs) }
}

async function topUsers({ registry }: OverviewDeps, records: StoredRecords, filter: Asked) {
  const { counts } = await records.count({ ...filter, only: 'calls', by: 'user', limit: TOP })
  return Promise.all(
    counts.map(async ({ userId = '', count: requests, failed: errors }) => {
      const user = await registry.users.byId(userId)
      return { user: user?.name ?? userId, userId, requests, errors }
    }),
  )
}

/** Servers that should run and do not, failing checks and rules; for administrators also failing parts of the hub. */
async function attentionOf(deps: OverviewDeps, actor: UserActor, mine: boolean) {
  const all = seesAll(actor, mine)
  const records = await deps.registry.servers.list(actor, { scope: all ? 'all' : 'mine' })
  const servers: object[] = []
  const pause = pauses()
  for (const record of records) {
    await pause()
    const { state, since, reason, health } = deps.upstreams.status(record.id, record)
    const subject = qualified(record)
    // Only its owner can end the want of a credential that the owner alone has.
    const isOthers = reason?.ofOwner === true && record.ownerId !== actor.userId
    if (state === 'offline' && record.enabled && reason && !RESTING.has(reason.code) && !isOthers)
      servers.push({ kind: 'server_offline', subject, code: reason.code, message: reason.message, since })
    if (state === 'online' && health?.state === 'failing') {
      const { code, message = 'Its checks fail' } = health.lastCheck?.error ?? {}
      servers.push({ kind: 'server_failing', subject, ...coded(code), message, since })
    }
  }
  const rules = (await deps.alerts.rules.list(actor)).flatMap(rule => {
    const { state, code, message = state } = rule.health as unknown as Fault & { readonly state: string }
    return state === 'ok' ? [] : [{ kind: 'rule_failing', subject: String(rule.name), ...coded(code), message }]
  })
  return [...servers, ...rules, ...(all ? partsOf(deps) : [])]
}

function partsOf({ logging, plugins, fileProblems }: OverviewDeps) {
  const sinks = logging
    .sinks()
    .filter(({ state }) => state !== 'up')
    .map(({ id, waiting, reason }) => {
      const message = `${waiting} records wait for it`
      return { kind: 'sink_failing', subject: id, ...coded(reason?.code), message }
    })
  const failed = plugins
    .list()
    .filter(({ state }) => state === 'failed')
    .map(({ name, code, message = 'It did not start' }) => {
      return { kind: 'plugin_failed', subject: name, ...coded(code), message }
    })
  const wrong = fileProblems().map(({ pointer, code, detail }) => ({
    ...{ kind: 'settings_problem', subject: pointer, code, message: detail },
  }))
  return [...sinks, ...failed, ...wrong]
}

interface Fault {
  readonly code?: string
  readonly message?: string
}

function coded(code: string | undefined): { readonly code?: string } {
  return code === undefined ? {} : { code }
}
