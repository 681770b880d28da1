import type { ServerRecord } from '../contract/records.ts'
import type { ConditionTest, MetricQuery } from '../domain/alerts/condition.ts'
import type { AlertRule } from '../domain/alerts/rule-body.ts'
import type { FactValue } from '../domain/alerts/verdict.ts'

/** The facts about one server that alert rules use. */
export type AlertServer = Pick<ServerRecord, 'id' | 'ownerId' | 'ownerName' | 'name' | 'tags' | 'enabled' | 'problem'>

/** One thing that a rule evaluates by itself. */
export interface Subject {
  /** Stable over restarts. */
  readonly key: string
  /** For people: `owner~server`, `owner~server tool`, an owner's name, or `total`. */
  readonly label: string
  readonly server?: string
  readonly tool?: string
}

/** Values of a test by subject. A value is computed when it is read: there may be many more subjects than a rule evaluates. */
export interface Facts {
  /** By their keys. */
  readonly subjects: ReadonlyMap<string, Subject>
  valueOf(key: string): FactValue
  /** A text for messages in place of the value. */
  textOf?(key: string): string | undefined
}

/** Servers that a rule sees: those of one owner, or all. */
export interface RuleScope {
  readonly ownerId: string | 'all'
}

/** Data about the hub for alerts. A source of stored metrics can implement the same methods. */
export interface AlertFacts {
  /** Why a metric cannot be had here, as a sentence; undefined when it can. */
  unavailable(query: MetricQuery): string | undefined
  /**
   * Reads the data for the next evaluations; from now on counts only the metrics of these tests. Rejects when the store does not
   * answer.
   */
  refresh(tests: readonly ConditionTest[]): Promise<void>
  /** The value of each subject that the query selects; a value is undefined if there is no data. */
  values(query: MetricQuery, per: AlertRule['per'], ruleScope: RuleScope): Facts | { readonly everywhere: FactValue }
  /** True when it is too early to evaluate a subject: its server has only begun to start, or the window is not full yet. */
  settling(query: MetricQuery, key: string): boolean
  dispose(): void
}
