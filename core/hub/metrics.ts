import type { HubConfig } from '../config/schema.ts'
import type { Upstreams } from '../connections/api.ts'
import type { MetricsDeps } from '../http/routes/monitoring/metrics.ts'
import type { Registry } from '../registry/api.ts'
import { HubMetrics } from '../telemetry/hub-metrics.ts'
import type { HubLog } from '../telemetry/log.ts'

/** How long one text answers all who ask, in milliseconds: making it takes some time with many servers. */
const TEXT_MS = 1_000

/** What `createMetricsText` needs. */
export interface MetricsParts {
  readonly metrics: HubMetrics
  readonly config: HubConfig
  readonly registry: { readonly users: Pick<Registry['users'], 'list'> }
  readonly upstreams: Pick<Upstreams, 'states' | 'counts'>
  readonly hubLog: Pick<HubLog, 'sinks'>
  readonly version: string
  readonly startedAtMs: number
}

/** Counters of the hub, fed by its log. */
export function createHubMetrics(hubLog: HubLog): HubMetrics {
  const metrics = new HubMetrics()
  hubLog.onRecord(level => metrics.record(level))
  return metrics
}

/** The dependencies of the route that Prometheus reads. */
export function metricsDeps(parts: MetricsParts): MetricsDeps {
  const { metrics, config, registry, upstreams, hubLog, version, startedAtMs } = parts
  const make = async (): Promise<string> => {
    const users = await registry.users.list({ kind: 'system', purpose: 'metrics' }, { scope: 'all' })
    return metrics.text({
      version,
      uptimeSeconds: (performance.now() - startedAtMs) / 1_000,
      servers: upstreams.states(),
      tools: upstreams.counts().tools,
      sinks: hubLog.sinks(),
      owners: new Map(users.map(({ id, name }) => [id, name])),
    })
  }
  let last: { readonly atMs: number; readonly text: Promise<string> } | undefined
  return {
    metricsToken: config.metricsToken,
    metricsText() {
      const nowMs = performance.now()
      if (!last || nowMs - last.atMs >= TEXT_MS) last = { atMs: nowMs, text: make() }
      return last.text
    },
  }
}
