import type { Era } from '../domain/era.ts'
import type { CallOutcome } from '../features/call-records.ts'
import type { LogLevel } from '../features/log-records.ts'
import type { SpanCounts } from '../features/tracing.ts'
import { type EndedCall, reachedServer } from './calls/ended-call.ts'
import { DurationHistogram, LabelledValues } from './counters.ts'
import type { CustomSeries } from './custom-metrics.ts'
import type { SinkState } from './log-feed.ts'
import {
  childFamilies,
  counter,
  countsOf,
  customFamilies,
  from,
  gauge,
  histogram,
  processFamilies,
  type ServerNow,
  type ServerUsage,
  single,
  sinkFamilies,
  upOf,
} from './metric-families.ts'
import { type MetricFamily, prometheusText } from './metrics-text.ts'

const OTHER = 'other'
/** The owner of folded rows: no user has this id. */
const NOBODY = ''
/** Time for which the numbers of a removed server are still shown, in milliseconds. */
const GONE_MS = 60 * 60_000

/** State of the hub at the time of a scrape. */
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
  /** Custom metrics that users report. */
  readonly custom: readonly CustomSeries[]
  /** Alerts that fire, by severity. */
  readonly alerts: { readonly warning: number; readonly critical: number }
  readonly sinks: readonly SinkState[]
  readonly spans: SpanCounts
  /** Programs that run, by server. */
  readonly children: readonly ServerUsage[]
  /** Metrics of plugins. */
  readonly ofPlugins: readonly MetricFamily[]
  /** Names of users by id. */
  readonly owners: ReadonlyMap<string, string>
}

/** Counts events, and writes the text of `/metrics`. Counting a call takes a fraction of a microsecond. */
export class HubMetrics {
  /** Calls by names, so that a server that is created again under its name continues its counts. */
  readonly #calls = new LabelledValues(
    () => 0,
    ([, , , status = OTHER, outcome = OTHER]) => [NOBODY, OTHER, OTHER, status, outcome],
  )
  readonly #durations = new LabelledValues(
    () => new DurationHistogram(),
    () => [NOBODY, OTHER],
  )
  /** Durations of servers' starts, and numbers of reconnections, by owner and name. */
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
  /** Without a search, which would make garbage of each record. */
  readonly #records: Record<LogLevel, number> = { ERROR: 0, WARN: 0, INFO: 0, DEBUG: 0, TRACE: 0 }
  readonly #mcpRequests = new LabelledValues(
    () => 0,
    ([, era = OTHER, status = OTHER]) => [OTHER, era, status],
  )
  readonly #deliveries = new LabelledValues(
    () => 0,
    ([, result = OTHER]) => [OTHER, result],
  )
  #workerEnds = 0
  /** Times at which counted servers were removed, by owner and name. */
  readonly #goneMs = new Map<string, number>()

  /** Counts a tools/call that ended. If it reached no server, the tool's name is the caller's text and is left out. */
  call(call: EndedCall): void {
    const { ownerId, server, status, outcome, durationMs } = call
    const isSent = reachedServer(call)
    this.#calls.row([ownerId, server, isSent ? call.tool : '', status, outcome satisfies CallOutcome]).value += 1
    if (isSent) this.#durations.row([ownerId, server]).value.add(durationMs / 1_000)
  }

  /** Counts the opening of a server's shared connection; `again`: not for the first time. */
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

  /** An MCP request that ended. */
  mcpRequest(method: string, era: Era, status: string): void {
    this.#mcpRequests.row([method, era, status]).value += 1
  }

  /** An attempt to send a message about alerts by a channel of this type. */
  delivery(type: string, result: 'sent' | 'failed' | 'dead'): void {
    this.#deliveries.row([type, result]).value += 1
  }

  /** A thread with connections ended by itself, or was ended for being silent; another takes its place. */
  workerEnded(): void {
    this.#workerEnds += 1
  }

  /** A record of the log. */
  record(level: LogLevel): void {
    this.#records[level] += 1
  }

  /** All metrics in the text format of Prometheus. */
  text(now: HubNow): Promise<string> {
    this.#forgetGone(new Set(now.servers.map(({ ownerId, name }) => placeOf([ownerId, name]))))
    return prometheusText(this.#families(now))
  }

  *#families(now: HubNow): Generator<MetricFamily> {
    const { servers, sinks, owners } = now
    const owner = (id: string): string => owners.get(id) ?? id
    yield gauge('info', 'Always 1; the label has the version of the hub', [
      { labels: { version: now.version }, value: 1 },
    ])
    yield gauge('uptime_seconds', 'Seconds since the hub started', [single(now.uptimeSeconds)])
    yield gauge('servers', 'Configured servers by state', countsOf(servers))
    yield gauge('tools', 'Tools that all servers list', [single(now.tools)])
    yield gauge('sessions', 'Open MCP sessions; clients of 2026-07-28 have none', [single(now.sessions)])
    yield gauge('live_streams', 'Open event streams of MCP sessions', [single(now.streams)])
    yield gauge('calls_in_flight', 'Requests of MCP sessions that have no answer yet', [single(now.callsInFlight)])
    yield gauge('event_loop_lag_seconds', 'Longest time within the last 10 s in which the event loop was blocked', [
      single(now.eventLoopLagSeconds),
    ])
    const severities = Object.entries(now.alerts).map(([severity, value]) => ({ labels: { severity }, value }))
    yield gauge('alerts_firing', 'Firing alerts of all owners', severities)
    yield gauge('server_up', '1 when the server is online, otherwise 0', upOf(servers, owner))
    yield counter(
      'tool_calls_total',
      'Tool calls that ended, including those that reached no server, which have their caller as owner and no server',
      from(this.#calls.rows(), ([id = '', server = '', tool = '', status = '', outcome = ''], value) => [
        { labels: { owner: owner(id), server, tool, status, outcome }, value },
      ]),
    )
    yield histogram(
      'tool_call_duration_seconds',
      'Response times of tool calls that reached a server',
      from(this.#durations.rows(), ([id = '', server = ''], value) => value.samples({ owner: owner(id), server })),
    )
    yield* this.#startFamilies(owner)
    yield* childFamilies(now.children, owner)
    yield counter('worker_restarts_total', 'Worker threads that ended unexpectedly and were replaced', [
      single(this.#workerEnds),
    ])
    yield counter(
      'mcp_requests_total',
      'MCP requests of all methods that ended; a tool error counts as success here, unlike in tool_calls_total',
      from(this.#mcpRequests.rows(), ([method = '', era = '', status = ''], value) => [
        { labels: { method, era, status }, value },
      ]),
    )
    yield histogram(
      'http_request_duration_seconds',
      'Durations of HTTP requests outside /mcp; of streams until the response head',
      from(this.#requests.rows(), ([route = '', method = '', status = ''], value) =>
        value.samples({ route, method, status }),
      ),
    )
    yield counter(
      'log_records_total',
      'Log records by level; one record may stand for many calls',
      Object.entries(this.#records).map(([level, value]) => ({ labels: { level: level.toLowerCase() }, value })),
    )
    yield* customFamilies(now.custom, owner)
    yield* sinkFamilies(sinks)
    yield* now.ofPlugins
    yield counter(
      'alert_deliveries_total',
      'Attempts to send alert messages, by type of channel',
      from(this.#deliveries.rows(), ([channel = '', result = ''], value) => [{ labels: { channel, result }, value }]),
    )
    yield counter(
      'spans_total',
      'Trace spans, by whether they were sent, failed or dropped',
      Object.entries(now.spans).map(([result, value]) => ({ labels: { result }, value })),
    )
    yield* processFamilies()
  }

  *#startFamilies(owner: (id: string) => string): Generator<MetricFamily> {
    yield histogram(
      'server_start_duration_seconds',
      'Time from the attempt to connect until the lists of the server were read',
      from(this.#starts.rows(), ([id = '', server = ''], { durations }) =>
        durations.samples({ owner: owner(id), server }),
      ),
    )
    yield counter(
      'server_restarts_total',
      'Connections to the server after the first one',
      from(this.#starts.rows(), ([id = '', server = ''], { again }) => [
        { labels: { owner: owner(id), server }, value: again },
      ]),
    )
    yield counter(
      'health_checks_total',
      'Finished health checks, by result',
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
