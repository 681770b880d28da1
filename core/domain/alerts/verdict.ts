import type { Condition, ConditionTest } from './condition.ts'

/** Value of a metric for one subject; undefined: it has no data. */
export type FactValue = number | string | undefined

/** True when a condition holds; undefined: unknown, since data is missing. */
export type Verdict = boolean | undefined

/**
 * Evaluates a condition for one subject. A test without data is neither true nor false: `and` is false if another part is false,
 * `or` is true if another part is true.
 */
export function verdictOf(
  condition: Condition,
  factOf: (test: ConditionTest) => FactValue,
  threshold: number | undefined,
): Verdict {
  if (condition.kind === 'test') return compare(condition, factOf(condition), threshold)
  if (condition.kind === 'not') {
    const inner = verdictOf(condition.part, factOf, threshold)
    return inner === undefined ? undefined : !inner
  }
  const decisive = condition.kind === 'or'
  const verdicts = condition.parts.map(part => verdictOf(part, factOf, threshold))
  if (verdicts.includes(decisive)) return decisive
  return verdicts.includes(undefined) ? undefined : !decisive
}

function compare({ op, value }: ConditionTest, fact: FactValue, threshold: number | undefined): Verdict {
  const wanted = typeof value === 'object' ? value.state : value === 'threshold' ? threshold : value
  if (fact === undefined || wanted === undefined) return undefined
  // A server that should not run now has no state.
  if (typeof value === 'object' && fact === 'resting') return false
  if (op === '==' || op === '!=') return (fact === wanted) === (op === '==')
  if (op === '>' || op === '>=') return op === '>' ? fact > wanted : fact >= wanted
  return op === '<' ? fact < wanted : fact <= wanted
}
