import { z } from 'zod'
import type { Upstreams } from '../../../connections/api.ts'
import { isAdmin } from '../../../domain/ownership.ts'
import type { HealthCheckResult } from '../../../domain/server/status.ts'
import type { Registry } from '../../../registry/api.ts'
import type { StateChange } from '../../../telemetry/uptime.ts'
import { type Route, route } from '../../route.ts'
import { anyObject, connectionState, exampleList, listOf, pageFields, timestamp, wholeNumber } from '../schemas.ts'
import { asksForOwn, scopeField } from '../time-range.ts'
import { page, qualified } from '../views.ts'
import { shown } from './performance.ts'

/** Dependencies of the route. */
export interface ServerHealthDeps {
  readonly registry: Pick<Registry, 'servers'>
  readonly upstreams: Pick<Upstreams, 'status' | 'checks'>
  /** Part of the last 24 hours for which a server was online, as far as this hub was running; 0 to 1. */
  readonly uptimeRatio: (serverId: string) => number | undefined
  readonly stateChanges: (serverId: string) => readonly StateChange[]
}

/** Checks that the hub keeps of a server. */
const MOST_CHECKS = 100

const ms = z.number().nullable()
const check = z.object({ at: timestamp, ok: z.boolean(), durationMs: z.number() })
const item = z.object({
  server: z.string(),
  serverId: z.string(),
  owner: z.string(),
  state: connectionState,
  since: timestamp,
  reason: anyObject.optional(),
  health: z.enum(['off', 'unknown', 'healthy', 'failing']),
  lastCheck: anyObject.nullable(),
  consecutiveFailures: z.number().int(),
  uptimeRatio24h: z.number().nullable().meta({ description: 'Of the time that the hub ran; null: it should not run' }),
  responseTime: z.object({ avg: ms, min: ms, max: ms }).meta({ description: 'Of the checks, in milliseconds' }),
  changes: z
    .array(z.object({ at: timestamp, state: connectionState, reason: anyObject.optional() }))
    .optional()
    .meta({
      description: 'With `server`: its states of the last 24 hours, at most 200, oldest first',
    }),
  checks: z.array(check).meta({ description: 'The last ones, at most 100, oldest first' }),
})

const last = { at: '2026-11-22T09:29:50.000Z', ok: true, durationMs: 3.1 }
const example = {
  server: 'ada~time',
  serverId: '01JD7C2M8K',
  owner: 'ada',
  state: 'online',
  since: '2026-11-22T08:00:00.000Z',
  health: 'healthy',
  lastCheck: last,
  consecutiveFailures: 0,
  uptimeRatio24h: 0.9991,
  responseTime: { avg: 3.1, min: 3.1, max: 3.1 },
  checks: [last],
}

/** The health of servers. */
export function serverHealthRoutes({ registry, upstreams, uptimeRatio, stateChanges }: ServerHealthDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/monitoring/health',
      access: 'user',
      summary: 'State, checks and uptime of your servers',
      tag: 'monitoring',
      query: z.strictObject({
        ...pageFields,
        server: z.string().min(1).max(256).optional().meta({ description: '`name` or `owner~name`: this one alone' }),
        scope: scopeField,
        checks: wholeNumber(0, MOST_CHECKS)
          .default(MOST_CHECKS)
          .meta({ description: 'How many of the last checks of each server' }),
      }),
      responses: { 200: { description: 'A page of servers', schema: listOf(item), example: exampleList(example) } },
      async handle({ actor, query }) {
        const { scope: asked, server: ref, checks: shownChecks, ...paging } = query
        const scope = !asksForOwn(actor, asked) && isAdmin(actor) ? 'all' : 'mine'
        const records =
          ref === undefined
            ? await registry.servers.list(actor, { scope })
            : [await registry.servers.resolve(actor, ref, 'see')]
        const found = page(records, paging)
        const items = found.items.map(record => {
          const { state, since, reason, health } = upstreams.status(record.id, record)
          const checks = upstreams.checks(record.id)
          const ratio = uptimeRatio(record.id)
          return {
            ...{ server: qualified(record), serverId: record.id, owner: record.ownerName, state, since },
            ...(reason ? { reason } : {}),
            health: health?.state ?? 'off',
            lastCheck: health?.lastCheck ?? null,
            consecutiveFailures: health?.misses ?? 0,
            ...(ref === undefined ? {} : { changes: stateChanges(record.id) }),
            uptimeRatio24h: ratio === undefined ? null : Number(ratio.toFixed(4)),
            responseTime: responseTimeOf(checks),
            checks: shownChecks === 0 ? [] : checks.slice(-shownChecks),
          }
        })
        return { body: { ...found, items } }
      },
    }),
  ]
}

/** Response times of the successful checks. */
function responseTimeOf(checks: readonly HealthCheckResult[]) {
  const times = checks.filter(({ ok }) => ok).map(({ durationMs }) => durationMs)
  if (times.length === 0) return { avg: null, min: null, max: null }
  const sum = times.reduce((all, each) => all + each, 0)
  return { avg: shown(sum / times.length), min: shown(Math.min(...times)), max: shown(Math.max(...times)) }
}
