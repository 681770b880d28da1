import { readdirSync } from 'node:fs'
import type { LogLevel, ToolCallRecord } from '../contract/records.ts'
import { type Counted, DurationHistogram, LabelledValues } from './counters.ts'
import type { CustomSeries } from './custom-metrics.ts'
import type { RefusedCall } from './log.ts'
import type { SinkState } from './log-feed.ts'
import { type MetricFamily, prometheusText, type Sample } from './metrics-text.ts'
import type { SpanCounts } from './traces.ts'

const OTHER = 'other'
/** The owner of folded rows: no user has this id. */
const NOBODY = ''
/** How long the numbers of a removed server are still shown, in milliseconds. */
const GONE_MS = 60 * 60_000

/** One server as it is now. */
export interface ServerNow {
  readonly ownerId: string
  readonly name: string
  readonly state: 'online' | 'connecting' | 'offline'
}

/** What the hub is at the time of a scrape. */
export interface HubNow {
  readonly version: string
  readonly uptimeSeconds: number
  readonly servers: readonly ServerNow[]
  readonly tools: number
  /** Open MCP sessions, their streams, and their calls under way. */
  readonly sessions: number
  readonly streams: number
  readonly callsInFlight: number
  /** The longest time that the event loop was held within the last 10 s. */
  readonly eventLoopLagSeconds: number
  /** What users count for themselves. */
  readonly custom: readonly CustomSeries[]
  /** Alerts that fire, by severity. */
  readonly alerts: { readonly warning: number; readonly critical: number }
  readonly sinks: readonly SinkState[]
  readonly spans: SpanCounts
  /** Names of users by id. */
  readonly owners: ReadonlyMap<string, string>
}

/** Counts what happens, and writes the text of `/metrics`. What it takes of a call is a fraction of a microsecond. */
export class HubMetrics {
  /** By names, so that a server that is made again under its name goes on where it was. */
  readonly #calls = new LabelledValues(
    () => 0,
    ([, , , status = OTHER]) => [NOBODY, OTHER, OTHER, status],
  )
  readonly #durations = new LabelledValues(
    () => new DurationHistogram(),
    () => [NOBODY, OTHER],
  )
  /** How long servers took to start, and how often they were connected again, by owner and name. */
  readonly #starts = new LabelledValues(
    () => ({ durations: new DurationHistogram(), again: 0 }),
    () => [NOBODY, OTHER],
  )
  readonly #checks = new LabelledValues(
    () => 0,
    ([, , result = OTHER]) => [NOBODY, OTHER, result],
  )
  readonly #requests = new LabelledValues(
    () => new DurationHistogram(),
    () => [OTHER, OTHER, OTHER],
  )
  readonly #records = new LabelledValues(
    () => 0,
    labels => labels,
  )
  /** Since when servers are gone whose calls are counted, by owner and name. */
  readonly #goneMs = new Map<string, number>()

  /** A finished tools/call. */
  call({ ownerId, server, tool, status, durationMs }: ToolCallRecord): void {
    this.#calls.row([ownerId, server, tool, status]).value += 1
    this.#durations.row([ownerId, server]).value.add(durationMs / 1_000)
  }

  /** A tools/call that reached no server. The tool's name is the caller's, so that it is not told. */
  refusedCall({ userId, code }: RefusedCall): void {
    this.#calls.row([userId, '', '', code]).value += 1
  }

  /** A server's shared connection stands; `again`: not for the first time. */
  started(ownerId: string, server: string, ms: number, again: boolean): void {
    const { value } = this.#starts.row([ownerId, server])
    value.durations.add(ms / 1_000)
    if (again) value.again += 1
  }

  /** A finished check of a server's health. */
  checked(ownerId: string, server: string, ok: boolean): void {
    this.#checks.row([ownerId, server, ok ? 'ok' : 'failed']).value += 1
  }

  /** An answered HTTP request; `route` is a pattern. Its duration ends with the head of a stream. */
  request(route: string, method: string, status: number, ms: number): void {
    this.#requests.row([route, method, String(status)]).value.add(ms / 1_000)
  }

  /** A record of the log. */
  record(level: LogLevel): void {
    this.#records.row([level.toLowerCase()]).value += 1
  }

  /** All metrics in the text format of Prometheus. */
  text(now: HubNow): Promise<string> {
    this.#forgetGone(new Set(now.servers.map(({ ownerId, name }) => placeOf([ownerId, name]))))
    return prometheusText(this.#families(now))
  }

  *#families(now: HubNow): Generator<MetricFamily> {
    const { servers, sinks, owners } = now
    const owner = (id: string): string => owners.get(id) ?? id
    yield gauge('info', 'The version of the hub', [{ labels: { version: now.version }, value: 1 }])
    yield gauge('uptime_seconds', 'How long the hub runs', [single(now.uptimeSeconds)])
    yield gauge('servers', 'Servers by state', countsOf(servers))
    yield gauge('tools', 'Tools of all servers', [single(now.tools)])
    yield gauge('sessions', 'Open MCP sessions', [single(now.sessions)])
    yield gauge('live_streams', 'Open streams of MCP sessions', [single(now.streams)])
    yield gauge('calls_in_flight', 'Calls of MCP sessions that are under way', [single(now.callsInFlight)])
    yield gauge('event_loop_lag_seconds', 'The longest hold of the event loop in 10 s', [
      single(now.eventLoopLagSeconds),
    ])
    const severities = Object.entries(now.alerts).map(([severity, value]) => ({ labels: { severity }, value }))
    yield gauge('alerts_firing', 'Alerts that fire', severities)
    yield gauge('server_up', 'Whether the server is online', upOf(servers, owner))
    yield counter(
      'tool_calls_total',
      'Calls of tools that ended, by outcome: success, error, or the code of the hub',
      from(this.#calls.rows(), ([id = '', server = '', tool = '', status = ''], value) => [
        { labels: { owner: owner(id), server, tool, status }, value },
      ]),
    )
    yield histogram(
      'tool_call_duration_seconds',
      'How long calls of tools took',
      from(this.#durations.rows(), ([id = '', server = ''], value) => value.samples({ owner: owner(id), server })),
    )
    yield* this.#startFamilies(owner)
    yield histogram(
      'http_request_duration_seconds',
      'How long HTTP requests took, streams until their head',
      from(this.#requests.rows(), ([route = '', method = '', status = ''], value) =>
        value.samples({ route, method, status }),
      ),
    )
    yield counter(
      'log_records_total',
      'Records of the log',
      from(this.#records.rows(), ([level = ''], value) => [{ labels: { level }, value }]),
    )
    yield* customFamilies(now.custom, owner)
    yield* sinkFamilies(sinks)
    yield counter(
      'spans_total',
      'Spans of traces by what became of them',
      Object.entries(now.spans).map(([result, value]) => ({ labels: { result }, value })),
    )
    yield* processFamilies()
  }

  *#startFamilies(owner: (id: string) => string): Generator<MetricFamily> {
    yield histogram(
      'server_start_duration_seconds',
      'How long servers took from the attempt to connect until their lists were read',
      from(this.#starts.rows(), ([id = '', server = ''], { durations }) =>
        durations.samples({ owner: owner(id), server }),
      ),
    )
    yield counter(
      'server_restarts_total',
      'How often servers were connected again',
      from(this.#starts.rows(), ([id = '', server = ''], { again }) => [
        { labels: { owner: owner(id), server }, value: again },
      ]),
    )
    yield counter(
      'health_checks_total',
      'Checks of health that ended, by result',
      from(this.#checks.rows(), ([id = '', server = '', result = ''], value) => [
        { labels: { owner: owner(id), server, result }, value },
      ]),
    )
  }

  #forgetGone(present: ReadonlySet<string>): void {
    const nowMs = performance.now()
    const counted = [this.#durations, this.#starts, this.#checks].flatMap(values => [...values.rows()])
    for (const { labels } of counted) {
      const place = placeOf(labels)
      if (present.has(place) || labels[0] === NOBODY) this.#goneMs.delete(place)
      else if (!this.#goneMs.has(place)) this.#goneMs.set(place, nowMs)
    }
    const over = [...this.#goneMs].filter(([, sinceMs]) => nowMs - sinceMs > GONE_MS).map(([place]) => place)
    if (over.length === 0) return
    const gone = new Set(over)
    this.#calls.remove(labels => gone.has(placeOf(labels)))
    this.#durations.remove(labels => gone.has(placeOf(labels)))
    this.#starts.remove(labels => gone.has(placeOf(labels)))
    this.#checks.remove(labels => gone.has(placeOf(labels)))
    for (const place of over) this.#goneMs.delete(place)
  }
}

function placeOf([ownerId = '', server = '']: readonly string[]): string {
  return `${ownerId}\n${server}`
}

function* from<V>(
  rows: Iterable<Counted<V>>,
  samples: (labels: readonly string[], value: V) => Iterable<Sample>,
): Generator<Sample> {
  for (const { labels, value } of rows) yield* samples(labels, value)
}

function countsOf(servers: readonly ServerNow[]): readonly Sample[] {
  return (['online', 'connecting', 'offline'] as const).map(state => ({
    labels: { state },
    value: servers.filter(one => one.state === state).length,
  }))
}

function* upOf(servers: readonly ServerNow[], owner: (id: string) => string): Generator<Sample> {
  for (const { ownerId, name, state } of servers)
    yield { labels: { owner: owner(ownerId), server: name }, value: state === 'online' ? 1 : 0 }
}

function* customFamilies(all: readonly CustomSeries[], owner: (id: string) => string): Generator<MetricFamily> {
  const samples = (kind: CustomSeries['kind']): readonly Sample[] =>
    all
      .filter(one => one.kind === kind)
      .map(({ ownerId, name, labels, value }) => ({ labels: { owner: owner(ownerId), name, ...labels }, value }))
  yield counter('custom_total', 'What users count for themselves', samples('counter'))
  yield gauge('custom_value', 'Numbers that users report', samples('gauge'))
}

function* sinkFamilies(sinks: readonly SinkState[]): Generator<MetricFamily> {
  const each = (value: (sink: SinkState) => number) =>
    sinks.map(one => ({ labels: { sink: one.id }, value: value(one) }))
  yield gauge(
    'log_sink_up',
    'Whether the sink takes records',
    each(({ state }) => (state === 'up' ? 1 : 0)),
  )
  yield gauge(
    'log_queue_records',
    'Records that wait for the sink',
    each(({ waiting }) => waiting),
  )
  const dropped = sinks.flatMap(({ id, dropped: by }) =>
    Object.entries(by).map(([reason, value]) => ({ labels: { sink: id, reason }, value })),
  )
  yield counter('log_dropped_total', 'Records that the sink did not get', dropped)
}

function* processFamilies(): Generator<MetricFamily> {
  const { user, system } = process.cpuUsage()
  yield counter('process_cpu_seconds_total', 'Processor time of the hub', [single((user + system) / 1_000_000)])
  yield gauge('process_resident_memory_bytes', 'Resident memory of the hub', [single(process.memoryUsage.rss())])
  yield gauge('process_start_time_seconds', 'When the hub was started', [single(performance.timeOrigin / 1_000)])
  const descriptors = openDescriptors()
  if (descriptors !== undefined) yield gauge('process_open_fds', 'File descriptors of the hub', [single(descriptors)])
}

/** Undefined where there is no /proc. */
function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

function single(value: number): Sample {
  return { labels: {}, value }
}

function gauge(name: string, help: string, samples: Iterable<Sample>): MetricFamily {
  return { name, help, type: 'gauge', samples }
}

function counter(name: string, help: string, samples: Iterable<Sample>): MetricFamily {
  return { name, help, type: 'counter', samples }
}

function histogram(name: string, help: string, samples: Iterable<Sample>): MetricFamily {
  return { name, help, type: 'histogram', samples }
}
