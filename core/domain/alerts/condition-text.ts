import { type Condition, type ConditionTest, type MetricQuery, WINDOW_MS } from './condition.ts'

/** A condition in its one canonical form: base units, no needless brackets; `parseCondition` reads it back unchanged. */
export function conditionText(condition: Condition): string {
  if (condition.kind === 'test') return testText(condition)
  if (condition.kind === 'not') return `not ${inBrackets(condition.part, condition.part.kind !== 'test')}`
  const parts = condition.parts.map(part => inBrackets(part, condition.kind === 'and' && part.kind === 'or'))
  return parts.join(` ${condition.kind} `)
}

function inBrackets(part: Condition, wanted: boolean): string {
  return wanted && part.kind !== 'not' ? `(${conditionText(part)})` : conditionText(part)
}

function testText({ query, op, value }: ConditionTest): string {
  return `${queryText(query)} ${op} ${typeof value === 'object' ? value.state : value}`
}

function queryText({ metric, selector, windowMs }: MetricQuery): string {
  const matchers = selector.map(({ field, equal, text }) => `${field}${equal ? '=' : '!='}${JSON.stringify(text)}`)
  const fields = matchers.length === 0 ? '' : `{${matchers.join(',')}}`
  return `${metric}${fields}${windowMs === undefined || windowMs === WINDOW_MS.usual ? '' : `[${windowMs}ms]`}`
}
