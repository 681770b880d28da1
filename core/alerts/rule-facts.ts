import { within } from '../connections/within.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { ConditionTest, MetricQuery, SELECTOR_FIELDS } from '../domain/alerts/condition.ts'
import { isPluginMetric } from '../domain/alerts/metrics.ts'
import type { AlertRule } from '../domain/alerts/rule-body.ts'
import type { AlertMetric, AlertReading } from '../features/alerts.ts'
import type { Facts, RuleScope, Subject } from './facts.ts'
import { HubFacts, type HubFactsDeps } from './hub-facts.ts'

/** Longest wait for the readings of a plugin, in milliseconds. */
const READ_MS = 2_000

/** Sources of {@link RuleFacts}. */
export interface RuleFactsDeps extends HubFactsDeps {
  /** Metrics of plugins, by their names. */
  readonly metrics: () => ReadonlyMap<string, AlertMetric>
  readonly log: Pick<PluginLogger, 'warn'>
}

/** All data that alert rules evaluate: the hub's own, and the metrics of plugins, which are read before each evaluation. */
export class RuleFacts extends HubFacts {
  readonly #metrics: RuleFactsDeps['metrics']
  readonly #log: RuleFactsDeps['log']
  readonly #readings = new Map<string, readonly AlertReading[]>()

  constructor(deps: RuleFactsDeps) {
    super(deps)
    this.#metrics = deps.metrics
    this.#log = deps.log
  }

  override unavailable(query: MetricQuery): string | undefined {
    const { metric, selector } = query
    if (!isPluginMetric(metric)) return super.unavailable(query)
    const known = this.#metrics().get(metric)
    if (!known) return `No plugin that runs measures "${metric}"`
    const field = selector.find(one => !known.fields.some(name => name === one.field))?.field
    return field && `"${metric}" is not known by ${field}; it is by ${known.fields.join(', ')}`
  }

  override async refresh(tests: readonly ConditionTest[]): Promise<void> {
    await super.refresh(tests)
    await this.readMetrics(tests)
  }

  /** Reads the metrics of plugins that the tests name. One that cannot be read keeps what was read before. */
  async readMetrics(tests: readonly ConditionTest[]): Promise<void> {
    const named = new Set(tests.map(({ query }) => query.metric).filter(isPluginMetric))
    for (const name of this.#readings.keys()) if (!this.#metrics().has(name)) this.#readings.delete(name)
    await Promise.all(
      [...named].map(async name => {
        try {
          const read = await within(Promise.resolve(this.#metrics().get(name)?.read()), READ_MS)
          if (read) this.#readings.set(name, read)
        } catch (error) {
          this.#log.warn('The metric of a plugin cannot be read', { metric: name, error })
        }
      }),
    )
  }

  /** Throws while no plugin has the metric: states of its rules are kept then. */
  override values(query: MetricQuery, per: AlertRule['per'], ruleScope: RuleScope) {
    const { metric } = query
    if (!isPluginMetric(metric)) return super.values(query, per, ruleScope)
    const readings = this.#readings.get(metric)
    if (!readings) throw new Error(`No plugin has measured "${metric}" yet`)
    const seen = readings.filter(one => isOf(one, ruleScope) && isSelected(one, query))
    if (per === 'total') {
      const values = seen.map(({ value }) => value)
      return { everywhere: values.length === 0 ? undefined : Math.max(...values) }
    }
    return per === 'owner' ? highestOfOwners(seen) : byReading(seen)
  }

  override settling(query: MetricQuery, key: string): boolean {
    return !isPluginMetric(query.metric) && super.settling(query, key)
  }
}

function isOf({ userIds }: AlertReading, { ownerId }: RuleScope): boolean {
  return ownerId === 'all' || userIds.includes(ownerId)
}

function isSelected(reading: AlertReading, { selector }: MetricQuery): boolean {
  const labels: Readonly<Partial<Record<(typeof SELECTOR_FIELDS)[number], string>>> = reading.labels
  return selector.every(({ field, equal, text }) => (labels[field] === text) === equal)
}

function byReading(readings: readonly AlertReading[]): Facts {
  const byKey = new Map(readings.map(one => [one.key, one]))
  const subjectOf = ({ key, label, labels: { server, tool } }: AlertReading): Subject => {
    return { key, label, ...(server === undefined ? {} : { server }), ...(tool === undefined ? {} : { tool }) }
  }
  return {
    subjects: new Map(readings.map(one => [one.key, subjectOf(one)])),
    valueOf: key => byKey.get(key)?.value,
    textOf: key => byKey.get(key)?.text,
  }
}

function highestOfOwners(readings: readonly AlertReading[]): Facts {
  const highest = new Map<string, AlertReading>()
  for (const one of readings) {
    const owner = one.labels.owner ?? ''
    if (one.value > (highest.get(owner)?.value ?? Number.NEGATIVE_INFINITY)) highest.set(owner, one)
  }
  const subjects = new Map([...highest.keys()].map(owner => [owner, { key: owner, label: owner }]))
  return { subjects, valueOf: owner => highest.get(owner)?.value }
}
