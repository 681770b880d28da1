import type { EventBus } from '../events/bus.ts'
import type { DurationRow, PendingRows } from '../features/log-store.ts'
import type { AnsweredRequest } from '../http/app.ts'
import { withCalls } from '../telemetry/calls/call-durations.ts'
import { CallLinks } from '../telemetry/calls/call-links.ts'
import { CallQueues } from '../telemetry/calls/call-queue.ts'
import { CallRing } from '../telemetry/calls/call-ring.ts'
import type { EndedCall } from '../telemetry/calls/ended-call.ts'
import { MetricsTicks } from '../telemetry/calls/metrics-ticks.ts'
import { CustomMetrics } from '../telemetry/custom-metrics.ts'
import { DurationSeries } from '../telemetry/duration-series.ts'
import { HubMetrics } from '../telemetry/hub-metrics.ts'
import type { HubLog } from '../telemetry/log.ts'
import type { SinkState } from '../telemetry/log-feed.ts'
import { SystemMonitor } from '../telemetry/system-usage.ts'
import { Uptime } from '../telemetry/uptime.ts'

const API = '/api/'
/** Its requests last as long as the stream is read. */
const STREAM = '/api/stream'

/** Counters and timers of the running hub. */
export interface Meters {
  /** Totals since the start, for `/metrics`. */
  readonly metrics: HubMetrics
  /** Durations by time, for the store of log records. */
  readonly durations: PendingRows<DurationRow>
  readonly system: SystemMonitor
  readonly uptime: Uptime
  readonly custom: CustomMetrics
  /** Calls of the last hour, by kind. */
  readonly ring: CallRing
  /** Plugins that follow calls. */
  readonly callQueues: CallQueues
  /** Calls of the last hour between clients, groups and servers. */
  readonly links: CallLinks
  /** Counts a tools/call that ended: all numbers of calls, except those of the log, come from here. */
  call(call: EndedCall): void
  request(request: AnsweredRequest): void
  dispose(): void
}

/** Meters that also follow the log and the events of servers, and measure the disk of the data folder. */
export function createMeters(hubLog: HubLog, bus: Pick<EventBus, 'on' | 'wants' | 'emit'>, dataDir: string): Meters {
  const metrics = new HubMetrics()
  const durations = new DurationSeries()
  const system = new SystemMonitor(dataDir)
  const custom = new CustomMetrics()
  const links = new CallLinks()
  const ring = new CallRing()
  const callQueues = new CallQueues()
  const ticks = new MetricsTicks(bus, ring)
  bus.on('user.removed', ({ data }) => {
    custom.forget(data.userId)
    links.forget(data.userId)
  })
  hubLog.onRecord(level => metrics.record(level))
  bus.on('upstream.connected', ({ ownerId, data: { serverId, start, again } }) => {
    if (!start) return
    metrics.started(ownerId ?? '', start.name, start.ms, again)
    const key = { kind: 'server_startup', owner: ownerId ?? '', serverId, server: start.name, tool: '' } as const
    durations.add(key, start.ms, false)
  })
  bus.on('upstream.checked', ({ ownerId, data: { name, ok } }) => metrics.checked(ownerId ?? '', name, ok))
  return {
    metrics,
    durations: withCalls(durations, ring),
    system,
    uptime: new Uptime(bus),
    custom,
    ...{ ring, callQueues, links },
    dispose() {
      system.dispose()
      ticks.dispose()
    },
    call(call) {
      metrics.call(call)
      links.add(call)
      ring.add(call)
      callQueues.add(call)
    },
    request({ route, method, status, ms, userId = '' }) {
      metrics.request(route, method, status, ms)
      if (!route.startsWith(API) || route === STREAM) return
      durations.add({ kind: 'api_requests', owner: userId, serverId: '', server: '', tool: '' }, ms, status >= 500)
    },
  }
}

/** Records that did not get into one of the sinks. */
export function droppedOf(sinks: readonly SinkState[]): number {
  return sinks.flatMap(({ dropped }) => Object.values(dropped)).reduce((sum, count) => sum + count, 0)
}
