import { readdirSync } from 'node:fs'
import type { LogLevel, ToolCallRecord } from '../contract/records.ts'
import { type Counted, DurationHistogram, LabelledValues } from './counters.ts'
import type { RefusedCall } from './log.ts'
import type { SinkState } from './log-feed.ts'
import { type MetricFamily, prometheusText, type Sample } from './metrics-text.ts'

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
  readonly sinks: readonly SinkState[]
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
    yield* sinkFamilies(sinks)
    yield* processFamilies()
  }

  #forgetGone(present: ReadonlySet<string>): void {
    const nowMs = performance.now()
    for (const { labels } of this.#durations.rows()) {
      const place = placeOf(labels)
      if (present.has(place) || labels[0] === NOBODY) this.#goneMs.delete(place)
      else if (!this.#goneMs.has(place)) this.#goneMs.set(place, nowMs)
    }
    const over = [...this.#goneMs].filter(([, sinceMs]) => nowMs - sinceMs > GONE_MS).map(([place]) => place)
    if (over.length === 0) return
    const gone = new Set(over)
    this.#calls.remove(labels => gone.has(placeOf(labels)))
    this.#durations.remove(labels => gone.has(placeOf(labels)))
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
