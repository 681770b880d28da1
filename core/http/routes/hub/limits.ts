import { z } from 'zod'
import type { Alerts } from '../../../alerts/create.ts'
import type { Assistant } from '../../../assistant/create.ts'
import type { SignIns } from '../../../auth/sign-ins.ts'
import { LIMITS } from '../../../config/limits.ts'
import type { Upstreams } from '../../../connections/api.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { Dashboards } from '../../../dashboards/dashboards.ts'
import { HOSTED_KEY_PREFIX, readHeaderConsents } from '../../../domain/server/header-consents.ts'
import type { LimitUse } from '../../../features/programs.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { Registry } from '../../../registry/api.ts'
import type { CustomMetrics } from '../../../telemetry/custom-metrics.ts'
import { type Route, route } from '../../route.ts'

/** Sources for a user's use of each limit. */
export interface LimitRoutesDeps {
  readonly registry: Pick<Registry, 'servers' | 'groups' | 'users' | 'keys' | 'settings'>
  readonly signIns: Pick<SignIns, 'list'>
  readonly mcp: Pick<McpEndpoint, 'usage'>
  readonly alerts: Pick<Alerts, 'usage'>
  readonly dashboards: Pick<Dashboards, 'count'>
  readonly assistant: Pick<Assistant, 'count'>
  readonly customMetrics: Pick<CustomMetrics, 'list'>
  readonly upstreams: Pick<Upstreams, 'processesOf' | 'foreignProcessesOf' | 'isolatedThreadsOf' | 'catalogBytesOf'>
  /** Streams that a user has open at `/api/stream`. */
  readonly liveStreams: (userId: string) => number
  /** Limits of plugins that run, by plugin. */
  readonly pluginLimits: () => Readonly<Record<string, Readonly<Record<string, number>>>>
  /** The use of these limits, by plugin. */
  readonly limitUses: () => ReadonlyMap<string, LimitUse>
}

type LimitName = keyof typeof LIMITS

const limit = z.object({
  name: z.string(),
  plugin: z.string().optional().meta({ description: 'The plugin whose limit it is' }),
  value: z.number(),
  unit: z.enum(['bytes', 'ms', 'count']),
  used: z.number().optional().meta({ description: 'What the caller uses of it now' }),
})

const example = {
  items: [
    { name: 'bodyBytes', value: 1_048_576, unit: 'bytes' },
    { name: 'serversPerUser', value: 200, unit: 'count', used: 12 },
  ],
}

/** All limits with their values, and the caller's usage of per-user ones. */
export function limitRoutes(deps: LimitRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/limits',
      access: 'user',
      summary: 'Every limit, and what you use of it',
      tag: 'health',
      responses: { 200: { description: 'All limits', schema: z.object({ items: z.array(limit) }), example } },
      async handle({ actor }) {
        return { body: { items: [...limitItems(await usage(deps, actor)), ...(await pluginItems(deps, actor))] } }
      },
    }),
  ]
}

type Usage = Partial<Record<LimitName, number>>

/** The table of limits for the API. */
export function limitItems(used: Usage) {
  return Object.entries(LIMITS).map(([name, value]) => {
    const count = used[name as LimitName]
    return { name, value, unit: unitOf(name), ...(count === undefined ? {} : { used: count }) }
  })
}

async function pluginItems({ pluginLimits, limitUses }: LimitRoutesDeps, actor: UserActor) {
  const uses = limitUses()
  const items = Object.entries(pluginLimits()).map(async ([plugin, numbers]) => {
    const used = (await uses.get(plugin)?.of(actor)) ?? {}
    return Object.entries(numbers).map(([name, value]) => {
      const count = used[name]
      return { name, plugin, value, unit: unitOf(name), ...(count === undefined ? {} : { used: count }) }
    })
  })
  return (await Promise.all(items)).flat()
}

function unitOf(name: string): 'bytes' | 'ms' | 'count' {
  if (/bytes/i.test(name)) return 'bytes'
  return name.endsWith('Ms') ? 'ms' : 'count'
}

async function usage(deps: LimitRoutesDeps, actor: UserActor): Promise<Usage> {
  const { registry, mcp, alerts, dashboards, assistant, upstreams, liveStreams } = deps
  const [servers, groups, keys, hosted, settings, stored, ofAlerts, ownDashboards, endpoints] = await Promise.all([
    registry.servers.list(actor, { scope: 'mine' }),
    registry.groups.list(actor, { scope: 'mine' }),
    registry.keys.list(actor),
    registry.settings.userSecretTimes(actor.userId, HOSTED_KEY_PREFIX),
    registry.settings.user(actor.userId),
    registry.settings.storedBytes(actor.userId),
    alerts.usage(actor),
    dashboards.count(actor),
    assistant.count(actor),
  ])
  const user = await registry.users.byId(actor.userId)
  const switchedOn = servers.filter(server => server.transport === 'stdio' && server.enabled).length
  return {
    serversPerUser: servers.length,
    storedBytesPerUser: stored.total,
    serverConfigBytesPerUser: stored.config,
    catalogBytesPerUser: upstreams.catalogBytesOf(actor.userId),
    groupsPerUser: groups.length,
    keysPerUser: keys.length,
    hostedKeysPerUser: Object.keys(hosted).length,
    passthroughServersPerUser: readHeaderConsents(settings).size,
    // The limit applies both to enabled servers and to running processes; the larger number reaches it first.
    liveStdioPerUser: Math.max(switchedOn, upstreams.processesOf(actor.userId)),
    foreignProcessesPerUser: upstreams.foreignProcessesOf(actor.userId),
    isolatedThreadsPerUser: upstreams.isolatedThreadsOf(actor.userId),
    liveStreamsPerUser: liveStreams(actor.userId),
    ...mcp.usage(actor.userId),
    ...ofAlerts,
    dashboardsPerUser: ownDashboards,
    assistantEndpointsPerUser: endpoints,
    customMetricSeriesPerUser: deps.customMetrics.list(actor.userId).length,
    signInsPerUser: user ? (await deps.signIns.list(user)).length : 0,
  }
}
