import type { Alerts } from '../alerts/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { Upstreams } from '../connections/api.ts'
import { processUsage } from '../connections/process/process-usage.ts'
import type { MetricSource } from '../features/services/monitoring.ts'
import type { CallTracer } from '../features/tracing.ts'
import type { LoggingView } from '../http/routes/hub/logging.ts'
import type { ConnectionsDeps } from '../http/routes/monitoring/connections.ts'
import type { CustomMetricsDeps } from '../http/routes/monitoring/custom-metrics.ts'
import type { MetricsDeps } from '../http/routes/monitoring/metrics.ts'
import type { ResourcesDeps } from '../http/routes/monitoring/resources.ts'
import type { ServerHealthDeps } from '../http/routes/monitoring/server-health.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import type { Registry } from '../registry/api.ts'
import { COMPONENTS } from '../telemetry/levels.ts'
import type { HubLog } from '../telemetry/log.ts'
import type { ServerUsage } from '../telemetry/metric-families.ts'
import type { MetricFamily } from '../telemetry/metrics-text.ts'
import { MONITORED } from './bundled.ts'
import type { Meters } from './meters.ts'

/** Time for which one text is reused for all requests, in milliseconds: rendering takes some time with many servers. */
const TEXT_MS = 1_000
/** The same for what programs use: each is read from /proc. */
const CHILDREN_MS = 10_000

/** Dependencies of `metricsDeps`. */
export interface MetricsParts {
  readonly meters: Pick<Meters, 'metrics' | 'system' | 'uptime' | 'custom' | 'links'>
  readonly config: HubConfig
  readonly registry: { readonly users: Pick<Registry['users'], 'list'> }
  readonly upstreams: Pick<Upstreams, 'states' | 'counts' | 'processes'>
  readonly hubLog: Pick<HubLog, 'sinks'>
  readonly mcp: Pick<McpEndpoint, 'sessions'>
  readonly alerts: Pick<Alerts, 'firing'>
  readonly version: string
  readonly startedAtMs: number
  readonly tracer: Pick<CallTracer, 'counts'>
  /** Live: the contributions to the point `metric`. */
  readonly sources: ReadonlyMap<string, MetricSource>
}

/** Returns the meters' data for the routes. */
export function metricsDeps(
  parts: MetricsParts,
): MetricsDeps &
  CustomMetricsDeps &
  Pick<ConnectionsDeps, 'links'> &
  Pick<ResourcesDeps, 'usage'> &
  Pick<ServerHealthDeps, 'uptimeRatio' | 'stateChanges'> {
  const { meters, config, registry, upstreams, hubLog, mcp, alerts, version, startedAtMs, tracer, sources } = parts
  const children = cached(CHILDREN_MS, () => childrenOf(upstreams))
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
      ofPlugins: await pluginFamilies(sources),
      children: await children(),
      spans: tracer.counts(),
      owners: new Map(users.map(({ id, name }) => [id, name])),
    })
  }
  const text = cached(TEXT_MS, make)
  return {
    usage: () => meters.system.usage(),
    custom: meters.custom,
    links: meters.links,
    uptimeRatio: serverId => meters.uptime.ratio(serverId),
    stateChanges: serverId => meters.uptime.changes(serverId),
    metricsToken: config.metricsToken,
    metricsText: text,
  }
}

/** The log as the routes of administration see it. */
export function loggingView(hubLog: Pick<HubLog, 'levels' | 'sinks'>): LoggingView {
  const components = [...COMPONENTS, ...MONITORED.logComponents]
  return { levels: hubLog.levels, sinks: () => hubLog.sinks(), components }
}

/** Caches the result of `make` for `ms` milliseconds. */
function cached<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly made: Promise<T> } | undefined
  return () => {
    const nowMs = performance.now()
    if (!last || nowMs - last.atMs >= ms) last = { atMs: nowMs, made: make() }
    return last.made
  }
}

/** Resources that the processes of each server use, with those of its sessions added. */
async function childrenOf(upstreams: Pick<Upstreams, 'states' | 'processes'>): Promise<readonly ServerUsage[]> {
  const processes = upstreams.processes()
  const usage = await processUsage(processes.map(({ pid }) => pid))
  const servers = new Map(upstreams.states().map(state => [state.serverId, state]))
  const found = new Map<string, ServerUsage>()
  for (const { pid, serverId } of processes) {
    const [server, used, before] = [servers.get(serverId), usage.get(pid), found.get(serverId)]
    if (!server || !used) continue
    found.set(serverId, {
      ...{ ownerId: server.ownerId, server: server.name },
      residentBytes: used.residentBytes + (before?.residentBytes ?? 0),
      cpuSeconds: used.cpuSeconds + (before?.cpuSeconds ?? 0),
    })
  }
  return [...found.values()]
}

/** The metrics that plugins define, with their present numbers. */
async function pluginFamilies(sources: MetricsParts['sources']): Promise<readonly MetricFamily[]> {
  const families = Object.entries(MONITORED.metrics).map(
    async ([name, { type, help, absent }]): Promise<MetricFamily> => {
      const numbers = (await sources.get(name)?.numbers()) ?? absent
      return { name, help, type, samples: numbers.map(({ labels = {}, value }) => ({ labels, value })) }
    },
  )
  return Promise.all(families)
}

function sessionsOf(mcp: Pick<McpEndpoint, 'sessions'>) {
  const sessions = mcp.sessions()
  return {
    sessions: sessions.length,
    streams: sessions.reduce((sum, session) => sum + session.streams, 0),
    callsInFlight: sessions.reduce((sum, session) => sum + session.callsInFlight, 0),
  }
}
