import type { Alerts } from '../alerts/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { Upstreams } from '../connections/api.ts'
import { processUsage } from '../connections/process/process-usage.ts'
import type { LogStore } from '../features/log-store.ts'
import type { CallTracer } from '../features/tracing.ts'
import type { ConnectionsDeps } from '../http/routes/monitoring/connections.ts'
import type { CustomMetricsDeps } from '../http/routes/monitoring/custom-metrics.ts'
import type { MetricsDeps } from '../http/routes/monitoring/metrics.ts'
import type { ResourcesDeps } from '../http/routes/monitoring/resources.ts'
import type { ServerHealthDeps } from '../http/routes/monitoring/server-health.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import type { Registry } from '../registry/api.ts'
import type { HubLog } from '../telemetry/log.ts'
import type { ServerUsage } from '../telemetry/metric-families.ts'
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
  readonly logStore: () => LogStore | undefined
}

/** Returns the meters' data for the routes. */
export function metricsDeps(
  parts: MetricsParts,
): MetricsDeps &
  CustomMetricsDeps &
  Pick<ConnectionsDeps, 'links'> &
  Pick<ResourcesDeps, 'usage'> &
  Pick<ServerHealthDeps, 'uptimeRatio' | 'stateChanges'> {
  const { meters, config, registry, upstreams, hubLog, mcp, alerts, version, startedAtMs, tracer, logStore } = parts
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
      ...(await storedNow(logStore(), hubLog)),
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

/** Bytes that the store of log records uses, and the number of records that are not stored yet. */
async function storedNow(store: LogStore | undefined, hubLog: Pick<HubLog, 'sinks'>) {
  const storedBytes = (await store?.sink?.bytes()) ?? { records: 0, counts: 0, durations: 0 }
  const recordsBehind = hubLog.sinks().find(({ id }) => id === 'database')?.waiting ?? 0
  return { storedBytes, recordsBehind }
}

function sessionsOf(mcp: Pick<McpEndpoint, 'sessions'>) {
  const sessions = mcp.sessions()
  return {
    sessions: sessions.length,
    streams: sessions.reduce((sum, session) => sum + session.streams, 0),
    callsInFlight: sessions.reduce((sum, session) => sum + session.callsInFlight, 0),
  }
}
