import { testsOf } from '../domain/alerts/condition.ts'
import { type FactValue, type Verdict, verdictOf } from '../domain/alerts/verdict.ts'
import { pauses } from '../store/pauses.ts'
import type { AlertFacts, Facts, Subject } from './facts.ts'
import type { EvaluatedRule } from './rules.ts'

/** Result of a rule for one subject. */
export interface Evaluated {
  readonly subject: Subject
  readonly verdict: Verdict
  /** Value of the first metric of the condition, or the text that says it. */
  readonly value: FactValue
  /** True when it is too early to evaluate it, after a start of the hub or of its server. */
  readonly settling: boolean
}

const TOTAL: Subject = { key: 'total', label: 'total' }

/**
 * Evaluates a rule for every subject that one of its metrics selects, at most `most` of them. An ordinary user's rules see the
 * user's own servers, an administrator's all. A metric with one value for all subjects together applies to each. Runs in several
 * turns of the event loop: a rule may have some hundred tests of each of its subjects.
 */
export async function evaluateSubjects(
  rule: EvaluatedRule,
  facts: AlertFacts,
  most: number,
): Promise<ReadonlyMap<string, Evaluated>> {
  const pause = pauses()
  const { condition, owner } = rule
  const tests = testsOf(condition)
  const ruleScope = { ownerId: owner.role === 'admin' ? 'all' : owner.id }
  const known = new Map<(typeof tests)[number], ReturnType<AlertFacts['values']>>()
  const subjects = new Map<string, Subject>()
  for (const test of tests) {
    const values = facts.values(test.query, rule.rule.per, ruleScope)
    known.set(test, values)
    if (!isEverywhere(values)) for (const [key, subject] of values.subjects) subjects.set(key, subject)
    await pause()
  }
  if ([...known.values()].every(isEverywhere)) subjects.set(TOTAL.key, TOTAL)
  const evaluated = new Map<string, Evaluated>()
  for (const key of [...subjects.keys()].toSorted().slice(0, most)) {
    const valueIn = (test: (typeof tests)[number]): FactValue => {
      const values = known.get(test)
      if (values === undefined || isEverywhere(values)) return values?.everywhere
      return values.subjects.has(key) ? values.valueOf(key) : undefined
    }
    const textIn = (test: (typeof tests)[number]): string | undefined => {
      const values = known.get(test)
      return values === undefined || isEverywhere(values) ? undefined : values.textOf?.(key)
    }
    const [first] = tests
    evaluated.set(key, {
      subject: subjects.get(key) ?? TOTAL,
      verdict: verdictOf(condition, valueIn, rule.rule.threshold),
      value: first && (textIn(first) ?? valueIn(first)),
      settling: tests.some(test => facts.settling(test.query, key)),
    })
    await pause()
  }
  return evaluated
}

function isEverywhere(
  values: Facts | { readonly everywhere: FactValue },
): values is { readonly everywhere: FactValue } {
  return 'everywhere' in values
}
