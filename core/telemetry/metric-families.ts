import { readdirSync } from 'node:fs'
import type { Counted } from './counters.ts'
import type { CustomSeries } from './custom-metrics.ts'
import type { SinkState } from './log-feed.ts'
import type { MetricFamily, Sample } from './metrics-text.ts'

/** One server as it is now. */
export interface ServerNow {
  readonly ownerId: string
  readonly name: string
  readonly state: 'online' | 'connecting' | 'offline'
}

/** The samples of all rows. */
export function* from<V>(
  rows: Iterable<Counted<V>>,
  samples: (labels: readonly string[], value: V) => Iterable<Sample>,
): Generator<Sample> {
  for (const { labels, value } of rows) yield* samples(labels, value)
}

/** Servers by state. */
export function countsOf(servers: readonly ServerNow[]): readonly Sample[] {
  return (['online', 'connecting', 'offline'] as const).map(state => ({
    labels: { state },
    value: servers.filter(one => one.state === state).length,
  }))
}

/** Memory and processor time of a server's processes. */
export interface ServerUsage {
  readonly ownerId: string
  readonly server: string
  readonly residentBytes: number
  readonly cpuSeconds: number
}

/** Memory and processor time of the programs of each server. */
export function* childFamilies(all: readonly ServerUsage[], owner: (id: string) => string): Generator<MetricFamily> {
  const each = (value: (usage: ServerUsage) => number): readonly Sample[] =>
    all.map(usage => ({ labels: { owner: owner(usage.ownerId), server: usage.server }, value: value(usage) }))
  yield gauge(
    'child_resident_memory_bytes',
    'Resident memory of the running processes of a server',
    each(({ residentBytes }) => residentBytes),
  )
  yield counter(
    'child_cpu_seconds_total',
    'Processor time of the processes of a server that are running now',
    each(({ cpuSeconds }) => cpuSeconds),
  )
}

/** State of each server: 1 for online, otherwise 0. */
export function* upOf(servers: readonly ServerNow[], owner: (id: string) => string): Generator<Sample> {
  for (const { ownerId, name, state } of servers)
    yield { labels: { owner: owner(ownerId), server: name }, value: state === 'online' ? 1 : 0 }
}

/** Metrics that users and plugins report. */
export function* customFamilies(all: readonly CustomSeries[], owner: (id: string) => string): Generator<MetricFamily> {
  const samples = (kind: CustomSeries['kind']): readonly Sample[] =>
    all
      .filter(one => one.kind === kind)
      .map(({ ownerId, name, labels, value }) => ({ labels: { owner: owner(ownerId), name, ...labels }, value }))
  yield counter('custom_total', 'Counters that users report', samples('counter'))
  yield gauge('custom_value', 'Gauges that users report', samples('gauge'))
}

/** The sinks of the log. */
export function* sinkFamilies(sinks: readonly SinkState[]): Generator<MetricFamily> {
  const each = (value: (sink: SinkState) => number) =>
    sinks.map(one => ({ labels: { sink: one.id }, value: value(one) }))
  yield gauge(
    'log_sink_up',
    '1 when the sink accepts records, otherwise 0',
    each(({ state }) => (state === 'up' ? 1 : 0)),
  )
  yield gauge(
    'log_queue_records',
    'Log records that wait for the sink',
    each(({ waiting }) => waiting),
  )
  const dropped = sinks.flatMap(({ id, dropped: by }) =>
    Object.entries(by).map(([reason, value]) => ({ labels: { sink: id, reason }, value })),
  )
  yield counter('log_dropped_total', 'Log records that the sink did not receive, by reason', dropped)
}

/** The hub's own process. */
export function* processFamilies(): Generator<MetricFamily> {
  const { user, system } = process.cpuUsage()
  yield counter('process_cpu_seconds_total', 'Processor time of the hub process', [single((user + system) / 1_000_000)])
  yield gauge('process_resident_memory_bytes', 'Resident memory of the hub process', [
    single(process.memoryUsage.rss()),
  ])
  yield gauge('process_start_time_seconds', 'Start time of the hub, in seconds since 1970', [
    single(performance.timeOrigin / 1_000),
  ])
  const descriptors = openDescriptors()
  if (descriptors !== undefined)
    yield gauge('process_open_fds', 'Open file descriptors of the hub process', [single(descriptors)])
}

/** Undefined if there is no /proc. */
function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

/** A value without labels. */
export function single(value: number): Sample {
  return { labels: {}, value }
}

/** A metric that goes up and down. */
export function gauge(name: string, help: string, samples: Iterable<Sample>): MetricFamily {
  return { name, help, type: 'gauge', samples }
}

/** A metric that only rises; its name ends in `_total`. */
export function counter(name: string, help: string, samples: Iterable<Sample>): MetricFamily {
  return { name, help, type: 'counter', samples }
}

/** Durations in seconds by bucket. */
export function histogram(name: string, help: string, samples: Iterable<Sample>): MetricFamily {
  return { name, help, type: 'histogram', samples }
}
