import type { ConditionTest } from '../domain/alerts/condition.ts'
import { testsOf } from '../domain/alerts/condition.ts'
import { type AlertInstance, evaluate, INACTIVE } from '../domain/alerts/machine.ts'
import { type FactValue, verdictOf } from '../domain/alerts/verdict.ts'
import { nextTurn } from '../domain/next-turn.ts'
import type { Measure, StoredRecords } from '../features/log-store.ts'
import { isOtherCalls, otherCalls } from './call-windows.ts'
import type { AlertServer, Subject } from './facts.ts'
import { isCallMetric, isSeen, matches, selects, subjectOf } from './hub-facts.ts'
import type { EvaluatedRule } from './rules.ts'

const DAY_MS = 24 * 60 * 60_000
const MINUTE_MS = 60_000
/** Limit of evaluated subjects: those with the most calls. */
const MOST_SUBJECTS = 50
const MOST_ROWS = 60_000
const MOST_FIRINGS = 200
/** Points of the line that is drawn. */
const LINE_POINTS = 144
const PERCENTILE = /^p(50|95|99)_response_time$/

/** One time at which a rule would have fired. */
export interface PastFiring {
  readonly subject: string
  readonly startsAt: string
  /** Absent: it would fire still. */
  readonly endsAt?: string
  /** Highest value of the first metric. */
  readonly highest: number | null
}

/** Results that a rule would have had over the last 24 hours. */
export interface PastOfRule {
  readonly from: string
  readonly to: string
  readonly stepMs: number
  readonly fired: number
  /** The first 200, by time. */
  readonly firings: readonly PastFiring[]
  /** Values of the subject that fired most, or had the most calls. */
  readonly series?: { readonly subject: string; readonly values: readonly (number | null)[] }
  /** The last value and verdict of each subject. */
  readonly now: readonly { readonly subject: string; readonly value: number | null; readonly holds: boolean | null }[]
}

/** Reason why the past of a rule cannot be evaluated; undefined if it can. */
export function whyNoPast({ condition, rule }: EvaluatedRule): string | undefined {
  const tests = testsOf(condition)
  const other = tests.find(({ query }) => !isCallMetric(query.metric))
  if (other) return `"${other.query.metric}" is not kept over time: what it would have said cannot be known`
  const timed = tests.filter(({ query }) => PERCENTILE.test(query.metric))
  if (timed.length === 0) return undefined
  const isSplit = rule.per === 'tool' || tests.some(({ query }) => query.selector.some(({ field }) => field === 'tool'))
  if (rule.per === 'owner' || rule.per === 'total' || (isSplit && rule.per !== 'tool')) {
    return 'Percentiles are kept by server and by tool: those of several together cannot be known'
  }
  const windows = new Set(timed.map(({ query }) => query.windowMs))
  return windows.size > 1 ? 'Percentiles over different windows cannot be looked at together' : undefined
}

/**
 * Runs a rule over the stored calls of the last 24 hours, in steps of a minute (with percentiles of their window). Reads with
 * the rights of the caller. Undefined: there are too many series. Throws as `StoredRecords.measure`.
 */
export async function pastOfRule(
  rule: EvaluatedRule,
  servers: readonly AlertServer[],
  records: Pick<StoredRecords, 'measure'>,
): Promise<PastOfRule | undefined> {
  const tests = testsOf(rule.condition)
  const stepMs = stepOf(tests)
  const longestMs = Math.max(...tests.map(({ query }) => query.windowMs ?? 0))
  const by =
    rule.rule.per === 'tool' || tests.some(({ query }) => query.selector.some(({ field }) => field === 'tool'))
      ? 'tool'
      : 'server'
  const rangeMs = DAY_MS + Math.ceil(longestMs / stepMs) * stepMs
  const { to, measures } = await records.measure({ kinds: ['tool_execution'], by, rangeMs, stepMs, limit: MOST_ROWS })
  if (measures.length >= MOST_ROWS) return undefined
  const end = Math.floor(to / stepMs) * stepMs
  const steps = Math.round(rangeMs / stepMs)
  const begin = end - (steps - 1) * stepMs
  const first = steps - Math.round(DAY_MS / stepMs)
  const groups = grouped(rule, tests, servers, measures)
  const results = []
  for (const group of groups.slice(0, MOST_SUBJECTS)) {
    results.push(runOver(rule, tests, group, { begin, stepMs, steps, first }))
    await nextTurn()
  }
  const firings = results
    .flatMap(result => result.firings)
    .toSorted((left, right) => (left.startsAt < right.startsAt ? -1 : 1))
  const drawn = results.toSorted((left, right) => right.firings.length - left.firings.length)[0]
  return {
    from: new Date(begin + first * stepMs).toISOString(),
    to: new Date(end + stepMs).toISOString(),
    ...{ stepMs, fired: firings.length, firings: firings.slice(0, MOST_FIRINGS) },
    ...(drawn ? { series: { subject: drawn.subject, values: thinned(drawn.values) } } : {}),
    now: results.map(({ subject, values, holds }) => ({ subject, value: values.at(-1) ?? null, holds })),
  }
}

function stepOf(tests: readonly ConditionTest[]): number {
  const timed = tests.find(({ query }) => PERCENTILE.test(query.metric))
  return Math.ceil((timed?.query.windowMs ?? MINUTE_MS) / MINUTE_MS) * MINUTE_MS
}

interface Group {
  readonly subject: Subject
  /** The measures of each test. */
  readonly of: Map<ConditionTest, Measure[]>
  calls: number
}

/** The measures by subject, the subject with the most calls first. */
function grouped(
  { rule, owner }: EvaluatedRule,
  tests: readonly ConditionTest[],
  servers: readonly AlertServer[],
  measures: readonly Measure[],
): readonly Group[] {
  const ruleScope = { ownerId: owner.role === 'admin' ? 'all' : owner.id }
  const known = new Map(servers.filter(server => isSeen(server, ruleScope)).map(server => [server.id, server]))
  const groups = new Map<string, Group>()
  for (const measure of measures) {
    const server = known.get(measure.serverId ?? '') ?? otherPlace(measure, rule, ruleScope, owner.name)
    if (!server) continue
    const { tool = '' } = measure
    const subject = subjectOf(server, rule.per === 'tool' && !isOtherCalls(server) ? tool : null, rule.per)
    const matching = tests.filter(({ query }) => selects(query, server) && matches(query, 'tool', tool))
    if (matching.length === 0) continue
    const group = groups.get(subject.key) ?? { subject, of: new Map(), calls: 0 }
    groups.set(subject.key, group)
    add(group, matching, measure)
  }
  return [...groups.values()].toSorted((left, right) => right.calls - left.calls)
}

/** Names the subject of calls that reached no server, or servers of other owners, as the running rule does. */
function otherPlace(
  { serverId = '' }: Measure,
  { per }: EvaluatedRule['rule'],
  { ownerId }: { readonly ownerId: string },
  ownerName: string,
): AlertServer | undefined {
  const ofAll = per === 'total' || per === 'owner'
  if (serverId !== '') return ofAll && ownerId !== 'all' ? otherCalls('elsewhere', ownerId, ownerName) : undefined
  if (ownerId !== 'all') return otherCalls('unsent', ownerId, ownerName)
  // Summed over all callers: the store does not keep the caller.
  return per === 'owner' ? undefined : otherCalls('unsent', '', '')
}

/** Counts a measure for each of the tests that select it. */
function add(group: Group, matching: readonly ConditionTest[], measure: Measure): void {
  for (const test of matching) {
    group.calls += measure.count
    const own = group.of.get(test)
    if (own) own.push(measure)
    else group.of.set(test, [measure])
  }
}

interface Steps {
  readonly begin: number
  readonly stepMs: number
  readonly steps: number
  /** The first step of the 24 hours; those before only fill the windows. */
  readonly first: number
}

function runOver(
  rule: EvaluatedRule,
  tests: readonly ConditionTest[],
  group: Group,
  { begin, stepMs, steps, first }: Steps,
) {
  const sources = new Map(
    tests.map(test => [test, sourceOf(test, group.of.get(test) ?? [], { begin, stepMs, steps, first })]),
  )
  const [shown] = tests
  const { label } = group.subject
  const values: (number | null)[] = []
  const firings: { subject: string; startsAt: string; endsAt?: string; highest: number | null }[] = []
  let instance: AlertInstance = INACTIVE
  let holds: boolean | null = null
  for (let at = first; at < steps; at += 1) {
    const verdict = verdictOf(rule.condition, test => sources.get(test)?.(at), rule.rule.threshold)
    const next = evaluate(instance, verdict, at === first ? 0 : stepMs, rule.rule)
    instance = next.instance
    holds = verdict ?? null
    const value = (shown && sources.get(shown)?.(at)) as number | undefined
    values.push(value ?? null)
    const time = new Date(begin + (at + 1) * stepMs).toISOString()
    if (next.change?.kind === 'fired') firings.push({ subject: label, startsAt: time, highest: null })
    const open = firings.at(-1)
    if (open && open.endsAt === undefined && value !== undefined) open.highest = Math.max(open.highest ?? value, value)
    if (open && next.change?.kind === 'resolved') open.endsAt = time
  }
  return { subject: label, values, firings, holds }
}

/** The value of a test at the end of each step. Sums over the window are differences of sums from the beginning. */
function sourceOf(
  { query }: ConditionTest,
  measures: readonly Measure[],
  { begin, stepMs, steps }: Steps,
): (at: number) => FactValue {
  const { metric, windowMs = MINUTE_MS } = query
  const place = ({ slot = 0 }: Measure): number => Math.floor((slot - begin) / stepMs)
  const percent = PERCENTILE.exec(metric)?.[1]
  if (percent !== undefined) {
    const name = `p${percent}Ms` as 'p50Ms' | 'p95Ms' | 'p99Ms'
    const known = new Map(measures.map(measure => [place(measure), measure[name] ?? undefined]))
    return at => known.get(at)
  }
  const [calls, errors, timed, totalMs] = [
    new Float64Array(steps + 1),
    new Float64Array(steps + 1),
    new Float64Array(steps + 1),
    new Float64Array(steps + 1),
  ]
  for (const measure of measures) {
    const at = place(measure) + 1
    if (at < 1 || at > steps) continue
    calls[at] = (calls[at] ?? 0) + measure.count
    errors[at] = (errors[at] ?? 0) + measure.failed
    const took = timesOf(measure)
    timed[at] = (timed[at] ?? 0) + took.calls
    totalMs[at] = (totalMs[at] ?? 0) + took.ms
  }
  for (const sums of [calls, errors, timed, totalMs]) {
    for (let at = 1; at <= steps; at += 1) sums[at] = (sums[at] ?? 0) + (sums[at - 1] ?? 0)
  }
  const width = Math.max(1, Math.ceil(windowMs / stepMs))
  const within = (sums: Float64Array, at: number): number =>
    (sums[at + 1] ?? 0) - (sums[Math.max(0, at + 1 - width)] ?? 0)
  return at => {
    const n = within(calls, at)
    if (metric === 'request_count') return n
    if (metric === 'error_count') return within(errors, at)
    if (metric === 'request_rate') return (n * 1_000) / (width * stepMs)
    if (n === 0) return undefined
    if (metric === 'avg_response_time') return quotient(within(totalMs, at), within(timed, at))
    return metric === 'error_rate' ? within(errors, at) / n : 1 - within(errors, at) / n
  }
}

/** Calls that reached no server have no durations. */
function timesOf({ count, avgMs }: Measure): { readonly calls: number; readonly ms: number } {
  return avgMs === null ? { calls: 0, ms: 0 } : { calls: count, ms: count * avgMs }
}

function quotient(sum: number, count: number): number | undefined {
  return count === 0 ? undefined : sum / count
}

/** Reduces a line to a number of points that can be drawn, each the highest of its part. */
function thinned(values: readonly (number | null)[]): readonly (number | null)[] {
  const part = Math.ceil(values.length / LINE_POINTS)
  return Array.from({ length: Math.ceil(values.length / part) }, (_, at) => {
    const known = values.slice(at * part, (at + 1) * part).filter(value => value !== null)
    return known.length === 0 ? null : Math.max(...known)
  })
}
