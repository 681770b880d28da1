import type { Alerts } from '../alerts/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { Upstreams } from '../connections/api.ts'
import type { ConnectionsDeps } from '../http/routes/monitoring/connections.ts'
import type { CustomMetricsDeps } from '../http/routes/monitoring/custom-metrics.ts'
import type { MetricsDeps } from '../http/routes/monitoring/metrics.ts'
import type { ResourcesDeps } from '../http/routes/monitoring/resources.ts'
import type { ServerHealthDeps } from '../http/routes/monitoring/server-health.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import type { Registry } from '../registry/api.ts'
import type { HubLog } from '../telemetry/log.ts'
import type { Traces } from '../telemetry/traces.ts'
import type { Meters } from './meters.ts'

/** How long one text answers all who ask, in milliseconds: making it takes some time with many servers. */
const TEXT_MS = 1_000

/** What `metricsDeps` needs. */
export interface MetricsParts {
  readonly meters: Pick<Meters, 'metrics' | 'system' | 'uptime' | 'custom' | 'links'>
  readonly config: HubConfig
  readonly registry: { readonly users: Pick<Registry['users'], 'list'> }
  readonly upstreams: Pick<Upstreams, 'states' | 'counts'>
  readonly hubLog: Pick<HubLog, 'sinks'>
  readonly mcp: Pick<McpEndpoint, 'sessions'>
  readonly alerts: Pick<Alerts, 'firing'>
  readonly version: string
  readonly startedAtMs: number
  readonly traces: Pick<Traces, 'counts'> | undefined
}

/** What the routes show of the meters. */
export function metricsDeps(
  parts: MetricsParts,
): MetricsDeps &
  CustomMetricsDeps &
  Pick<ConnectionsDeps, 'links'> &
  Pick<ResourcesDeps, 'usage'> &
  Pick<ServerHealthDeps, 'uptimeRatio'> {
  const { meters, config, registry, upstreams, hubLog, mcp, alerts, version, startedAtMs, traces } = parts
  const make = async (): Promise<string> => {
    const users = await registry.users.list({ kind: 'system', purpose: 'metrics' }, { scope: 'all' })
    return meters.metrics.text({
      version,
      uptimeSeconds: (performance.now() - startedAtMs) / 1_000,
      servers: upstreams.states(),
      tools: upstreams.counts().tools,
      ...sessionsOf(mcp),
      custom: meters.custom.list('all'),
      eventLoopLagSeconds: meters.system.usage().eventLoopLagMs / 1_000,
      alerts: await alerts.firing(),
      sinks: hubLog.sinks(),
      spans: traces?.counts() ?? { sent: 0, failed: 0, dropped: 0 },
      owners: new Map(users.map(({ id, name }) => [id, name])),
    })
  }
  let last: { readonly atMs: number; readonly text: Promise<string> } | undefined
  return {
    usage: () => meters.system.usage(),
    custom: meters.custom,
    links: meters.links,
    uptimeRatio: serverId => meters.uptime.ratio(serverId),
    metricsToken: config.metricsToken,
    metricsText() {
      const nowMs = performance.now()
      if (!last || nowMs - last.atMs >= TEXT_MS) last = { atMs: nowMs, text: make() }
      return last.text
    },
  }
}

function sessionsOf(mcp: Pick<McpEndpoint, 'sessions'>) {
  const sessions = mcp.sessions()
  return {
    sessions: sessions.length,
    streams: sessions.reduce((sum, session) => sum + session.streams, 0),
    callsInFlight: sessions.reduce((sum, session) => sum + session.callsInFlight, 0),
  }
}
