import type { Upstreams } from '../connections/api.ts'
import type { ConditionTest, MetricQuery } from '../domain/alerts/condition.ts'
import type { AlertRule } from '../domain/alerts/rule-body.ts'
import type { FactValue } from '../domain/alerts/verdict.ts'
import { durationText } from '../domain/duration.ts'
import { hasTags } from '../domain/groups/tags.ts'
import { formatRef } from '../domain/names.ts'
import type { EventBus } from '../events/bus.ts'
import type { Registry } from '../registry/api.ts'
import type { CustomMetrics } from '../telemetry/custom-metrics.ts'
import { Histogram } from '../telemetry/histogram.ts'
import { CALL_WINDOW_MS, CallWindows, isOtherCalls, OtherCalls } from './call-windows.ts'
import type { AlertFacts, AlertServer, Facts, RuleScope, Subject } from './facts.ts'
import { isMachineMetric, MachineFacts, type MachineSource } from './machine-facts.ts'
import { RECORD_WINDOW_MS, RecordFacts, type RecordSource } from './record-facts.ts'
import { Occurrences, ServerStates } from './server-states.ts'

/** Sources of {@link HubFacts}. */
export interface HubFactsDeps extends MachineSource, RecordSource {
  /** Custom metrics that users report; `all`: of all owners together. */
  readonly custom: Pick<CustomMetrics, 'value'>
  readonly registry: { readonly servers: Pick<Registry['servers'], 'list'> }
  readonly upstreams: Pick<Upstreams, 'status'>
  readonly bus: Pick<EventBus, 'on'>
  /** Runs when the state of a server changes. */
  readonly stateChanged: () => void
}

type Server = AlertServer

const CALL_METRICS: Readonly<Record<string, (calls: Calls) => number | undefined>> = {
  error_rate: ({ calls, errors }) => (calls === 0 ? undefined : errors / calls),
  success_rate: ({ calls, errors }) => (calls === 0 ? undefined : 1 - errors / calls),
  avg_response_time: ({ calls, totalMs }) => (calls === 0 ? undefined : totalMs / calls),
  request_rate: ({ calls, windowMs }) => (calls * 1_000) / windowMs,
  p50_response_time: ({ durations }) => percentileMs(durations, 0.5),
  p95_response_time: ({ durations }) => percentileMs(durations, 0.95),
  p99_response_time: ({ durations }) => percentileMs(durations, 0.99),
  request_count: ({ calls }) => calls,
  error_count: ({ errors }) => errors,
}

interface Calls {
  readonly calls: number
  readonly errors: number
  readonly totalMs: number
  readonly durations: Histogram
  readonly windowMs: number
}

function percentileMs(durations: Histogram, part: number): number | undefined {
  const micros = durations.quantile(part)
  return micros === undefined ? undefined : micros / 1_000
}

const CUSTOM = 'custom.'
const PRUNE_MS = 60_000
/** A source of call durations. */
const TIMES = /_response_time$/
const PERCENTILE = /^p\d+_response_time$/
const LOG_COUNT = 'log_count'
const FIELDS: ReadonlySet<string> = new Set(['server', 'owner', 'tag', 'tool'])
const RECORD_FIELDS: ReadonlySet<string> = new Set(['server', 'owner', 'tag', 'level', 'code'])
const TOTAL: Subject = { key: 'total', label: 'total' }

/**
 * Facts that the running hub collects itself: states of servers, calls of the last hour, restarts and failing health checks of
 * the last day. It begins to count calls when a rule first needs them; earlier ones are missing data.
 */
export class HubFacts implements AlertFacts {
  readonly #deps: HubFactsDeps
  readonly #states: ServerStates
  readonly #calls = new CallWindows()
  readonly #others = new OtherCalls(this.#calls)
  readonly #restarts = new Occurrences()
  readonly #healthFailures = new Occurrences()
  readonly #machine: MachineFacts
  readonly #records: RecordFacts
  readonly #unlisten: (() => void)[]
  readonly #sinceMs: number
  #servers: readonly Server[] = []
  #stale = true
  #prunedMs = Number.NEGATIVE_INFINITY
  /** Since when durations are kept one by one. */
  #timedSinceMs: number | undefined
  #counting: { readonly sinceMs: number; readonly end: () => void } | undefined

  constructor(deps: HubFactsDeps) {
    this.#deps = deps
    this.#sinceMs = deps.now()
    this.#machine = new MachineFacts(deps)
    this.#records = new RecordFacts(deps)
    const { bus, now } = deps
    const stale = (): void => {
      this.#stale = true
    }
    this.#states = new ServerStates(bus, now, deps.stateChanged)
    this.#unlisten = [
      bus.on('server.created', stale),
      bus.on('server.updated', stale),
      bus.on('user.updated', stale),
      bus.on('user.removed', stale),
      bus.on('server.removed', ({ data }) => {
        stale()
        this.#restarts.forget(data.serverId)
        this.#healthFailures.forget(data.serverId)
        this.#records.forget(data.serverId)
      }),
      bus.on('upstream.connected', ({ data }) => {
        if (data.again && data.sessionId === undefined) this.#restarts.add(data.serverId, now())
      }),
      bus.on('server.health', ({ data }) => {
        if (data.state === 'failing') this.#healthFailures.add(data.serverId, now())
      }),
    ]
  }

  unavailable({ metric, selector, windowMs = 0 }: MetricQuery): string | undefined {
    const fields = metric === LOG_COUNT ? RECORD_FIELDS : FIELDS
    const field = selector.find(one => !fields.has(one.field))?.field
    if (field !== undefined) return `"${metric}" is not known by ${field}; it is by ${[...fields].join(', ')}`
    if (selector.some(one => one.field === 'tool') && !isCallMetric(metric)) return `"${metric}" is not known by tool`
    const isCustom = metric.startsWith(CUSTOM)
    if (isMachineMetric(metric) || isCustom) {
      if (selector.length > 0) return `"${metric}" is one for the whole hub: it has no fields`
      return isCustom ? undefined : this.#machine.unavailable({ metric })
    }
    if (['server_status', 'servers_offline', 'restarts', 'health_failures'].includes(metric)) return undefined
    return uncounted(metric, windowMs)
  }

  async refresh(tests: readonly ConditionTest[]): Promise<void> {
    const metrics = tests.map(({ query }) => query.metric)
    this.#countCalls(metrics.some(isCallMetric))
    const timed = metrics.some(metric => PERCENTILE.test(metric))
    if (timed && !this.#calls.keepsDurations) this.#timedSinceMs = this.#deps.now()
    this.#calls.keepsDurations = timed
    this.#machine.refresh(metrics.some(isMachineMetric))
    this.#records.refresh(metrics.includes(LOG_COUNT))
    this.#pruneCalls()
    // Without tests, servers are not read: reading all of them after each change would slow down other work.
    if (tests.length > 0) await this.readServers()
  }

  /** Reads the servers again if one has changed, and answers them all. Rejects when the store does not answer. */
  async readServers(): Promise<readonly AlertServer[]> {
    if (!this.#stale) return this.#servers
    // An event during the read makes the list stale again.
    this.#stale = false
    try {
      this.#servers = await this.#deps.registry.servers.list({ kind: 'system', purpose: 'alerts' }, { scope: 'all' })
    } catch (error) {
      this.#stale = true
      throw error
    }
    this.#prunedMs = Number.NEGATIVE_INFINITY
    this.#pruneCalls()
    return this.#servers
  }

  /** Calls that are over make room for others. */
  #pruneCalls(): void {
    const nowMs = this.#deps.now()
    if (nowMs - this.#prunedMs < PRUNE_MS) return
    this.#prunedMs = nowMs
    const known = new Set(this.#servers.map(({ id }) => id))
    this.#calls.prune(nowMs, serverId => known.has(serverId) || this.#others.owns(serverId))
    this.#others.prune()
  }

  values(query: MetricQuery, per: AlertRule['per'], ruleScope: RuleScope): Facts | { readonly everywhere: FactValue } {
    const { metric, windowMs = 0 } = query
    // The number of lost records covers all users, so ordinary users do not get it.
    if (metric === 'dropped_records' && ruleScope.ownerId !== 'all') return { everywhere: undefined }
    if (isMachineMetric(metric)) return { everywhere: this.#machine.value(query) }
    if (metric.startsWith(CUSTOM)) {
      return { everywhere: this.#deps.custom.value(ruleScope.ownerId, metric.slice(CUSTOM.length), windowMs) }
    }
    const servers = this.#servers.filter(server => isSeen(server, ruleScope) && selects(query, server))
    if (query.metric === 'servers_offline') {
      return { everywhere: servers.filter(server => this.#state(server) === 'offline').length }
    }
    if (metric === LOG_COUNT && per === 'total') {
      const ofHub =
        ruleScope.ownerId === 'all' && !query.selector.some(({ field }) => ['server', 'owner', 'tag'].includes(field))
      return { everywhere: this.#records.count(query, [...servers.map(({ id }) => id), ...(ofHub ? [''] : [])]) }
    }
    const others = isCallMetric(metric)
      ? this.#others.places(ruleScope, per === 'total' || per === 'owner', TIMES.test(metric))
      : []
    const counted = [...servers, ...others.filter(place => selects(query, place))]
    const groups = this.#groups(counted, per, query)
    return {
      subjects: new Map([...groups].map(([key, { subject }]) => [key, subject])),
      valueOf: key => this.#value(query, groups.get(key)?.members ?? []),
    }
  }

  settling({ metric, windowMs }: MetricQuery, key: string): boolean {
    if (isMachineMetric(metric)) return this.#machine.settling(windowMs)
    if (metric === LOG_COUNT) return this.#records.settling(windowMs ?? 0)
    if (windowMs === undefined) return this.#states.settling(key.split(' ')[0] ?? '')
    const callsSinceMs = PERCENTILE.test(metric) ? this.#timedSinceMs : this.#counting?.sinceMs
    const sinceMs = isCallMetric(metric) ? callsSinceMs : this.#sinceMs
    return sinceMs === undefined || this.#deps.now() - sinceMs < windowMs
  }

  /** Milliseconds until a starting server counts as offline. */
  nextInMs(): number | undefined {
    return this.#states.nextInMs()
  }

  dispose(): void {
    for (const unlisten of this.#unlisten) unlisten()
    this.#states.dispose()
    this.#countCalls(false)
    this.#records.refresh(false)
  }

  /** Listens to calls only while a rule needs them, since every listener costs time in each call. */
  #countCalls(wanted: boolean): void {
    if (wanted === (this.#counting !== undefined)) return
    if (!wanted) {
      this.#counting?.end()
      this.#counting = undefined
      this.#calls.clear()
      this.#others.clear()
      return
    }
    const { bus, now } = this.#deps
    const end = bus.on('tool.called', ({ data }) => {
      const { serverId: id, ownerId, tool, outcome, durationMs } = data
      if (this.#others.add(data, now())) return
      this.#calls.add({ id, ownerId }, tool, { failed: outcome !== 'ok', durationMs }, now())
    })
    this.#counting = { sinceMs: now(), end }
  }

  #state(server: Server): FactValue {
    return this.#states.state(server.id, this.#deps.upstreams.status(server.id, server))
  }

  /** The servers, with their tools where these are distinguished, by subject. */
  #groups(servers: readonly Server[], per: AlertRule['per'], query: MetricQuery) {
    const groups = new Map<string, { readonly subject: Subject; readonly members: Member[] }>()
    for (const server of servers) {
      const isSplit = per === 'tool' && !isOtherCalls(server)
      const tools = isSplit ? this.#calls.tools(server.id).filter(tool => matches(query, 'tool', tool)) : [null]
      for (const tool of tools) {
        const subject = subjectOf(server, tool, per)
        const group = groups.get(subject.key) ?? { subject, members: [] }
        groups.set(subject.key, group)
        group.members.push({ server, tool })
      }
    }
    return groups
  }

  #value(query: MetricQuery, members: readonly Member[]): FactValue {
    const { metric, windowMs = 0 } = query
    if (metric === 'server_status') {
      const states = members.map(({ server }) => this.#state(server))
      // For several servers together, the worst state.
      return ['offline', 'connecting', 'online', 'resting'].find(state => states.includes(state))
    }
    if (metric === LOG_COUNT)
      return this.#records.count(
        query,
        members.map(({ server }) => server.id),
      )
    const [first] = members
    if (first && this.settling(query, first.server.id)) return undefined
    const nowMs = this.#deps.now()
    if (!isCallMetric(metric)) {
      const kept = metric === 'restarts' ? this.#restarts : this.#healthFailures
      return members.reduce((sum, { server }) => sum + kept.count(server.id, windowMs, nowMs), 0)
    }
    const sum = { calls: 0, errors: 0, totalMs: 0, durations: new Histogram(), windowMs }
    for (const { server, tool } of members) {
      const wanted = tool ?? ((name: string) => matches(query, 'tool', name))
      const counts = this.#calls.counts(server.id, wanted, windowMs, nowMs)
      sum.calls += counts.calls
      sum.errors += counts.errors
      sum.totalMs += counts.totalMs
      sum.durations.merge(counts.durations)
    }
    return CALL_METRICS[metric]?.(sum)
  }
}

interface Member {
  readonly server: Server
  /** Null: all its tools together. */
  readonly tool: string | null
}

/** True when a metric is about finished calls. */
export function isCallMetric(metric: string): boolean {
  return Object.hasOwn(CALL_METRICS, metric)
}

/** Reason why the metric cannot be counted over such a window; undefined if it can. */
function uncounted(metric: string, windowMs: number): string | undefined {
  const isLog = metric === LOG_COUNT
  if (!isCallMetric(metric) && !isLog) return `This hub has no source for "${metric}"`
  const mostMs = isLog ? RECORD_WINDOW_MS : CALL_WINDOW_MS
  const what = isLog ? 'Records' : 'Calls'
  return windowMs <= mostMs
    ? undefined
    : `${what} are counted over ${durationText(mostMs)} at most, not over ${durationText(windowMs)}`
}

/** True when a rule with this scope sees the server. */
export function isSeen({ ownerId }: Server, ruleScope: RuleScope): boolean {
  return ruleScope.ownerId === 'all' || ruleScope.ownerId === ownerId
}

/** True when a query selects a server. */
export function selects(query: MetricQuery, server: Server): boolean {
  const ref = formatRef(server.ownerName, server.name)
  const names = query.selector.filter(({ field }) => field === 'server')
  const isNamed = names.every(({ text, equal }) => (text === server.name || text === ref) === equal)
  const isTagged = query.selector.every(
    ({ field, text, equal }) => field !== 'tag' || hasTags(server.tags, [text]) === equal,
  )
  return isNamed && isTagged && matches(query, 'owner', server.ownerName)
}

/** True when a query selects this value of a field. */
export function matches({ selector }: MetricQuery, field: 'owner' | 'tool', text: string): boolean {
  return selector.every(one => one.field !== field || (one.text === text) === one.equal)
}

/** The subject that a server, or one of its tools, belongs to. */
export function subjectOf(server: Server, tool: string | null, per: AlertRule['per']): Subject {
  if (per === 'total') return TOTAL
  if (per === 'owner') return { key: server.ownerId, label: server.ownerName }
  if (isOtherCalls(server)) {
    const ownerPrefix = server.ownerName === '' ? '' : `${server.ownerName}: `
    return { key: server.id, label: `${ownerPrefix}calls that reached no server` }
  }
  const ref = formatRef(server.ownerName, server.name)
  if (tool === null) return { key: server.id, label: ref, server: ref }
  return { key: `${server.id} ${tool}`, label: `${ref} ${tool}`, server: ref, tool }
}
