import { testsOf } from '../domain/alerts/condition.ts'
import { type FactValue, type Verdict, verdictOf } from '../domain/alerts/verdict.ts'
import type { AlertFacts, Facts, Subject } from './facts.ts'
import type { EvaluatedRule } from './rules.ts'

/** What a rule says of one subject now. */
export interface Evaluated {
  readonly subject: Subject
  readonly verdict: Verdict
  /** Of the first metric of the condition. */
  readonly value: FactValue
  /** Too early to evaluate it, after a start of the hub or of its server. */
  readonly settling: boolean
}

const TOTAL: Subject = { key: 'total', label: 'total' }

/**
 * Evaluates a rule for every subject that one of its metrics selects, at most `most` of them. An ordinary user's rules see
 * the user's own servers, an administrator's all. Metrics that are known only for everything together hold for each.
 */
export function evaluateSubjects(rule: EvaluatedRule, facts: AlertFacts, most: number): ReadonlyMap<string, Evaluated> {
  const { condition, owner } = rule
  const tests = testsOf(condition)
  const audience = { ownerId: owner.role === 'admin' ? 'all' : owner.id }
  const known = new Map(tests.map(test => [test, facts.values(test.query, rule.rule.per, audience)]))
  const subjects = new Map<string, Subject>()
  for (const values of known.values()) {
    if (!isEverywhere(values)) for (const [key, { subject }] of values) subjects.set(key, subject)
  }
  if ([...known.values()].every(isEverywhere)) subjects.set(TOTAL.key, TOTAL)
  const evaluated = new Map<string, Evaluated>()
  for (const key of [...subjects.keys()].toSorted().slice(0, most)) {
    const valueIn = (test: (typeof tests)[number]): FactValue => {
      const values = known.get(test)
      return values === undefined || isEverywhere(values) ? values?.everywhere : values.get(key)?.value
    }
    const [first] = tests
    evaluated.set(key, {
      subject: subjects.get(key) ?? TOTAL,
      verdict: verdictOf(condition, valueIn, rule.rule.threshold),
      value: first && valueIn(first),
      settling: tests.some(test => facts.settling(test.query, key)),
    })
  }
  return evaluated
}

function isEverywhere(
  values: Facts | { readonly everywhere: FactValue },
): values is { readonly everywhere: FactValue } {
  return 'everywhere' in values
}
