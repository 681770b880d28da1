import { parseDuration } from '../duration.ts'
import { parseTimestamp } from '../timestamp.ts'
import { LOG_FIELDS, type LogCondition, type LogOperator, severityOf } from './log-query.ts'

/** What is wrong with a query. `column`: of its text, from 1. */
export class QueryProblem extends Error {
  override readonly name = 'QueryProblem'
  readonly code: 'condition_invalid' | 'condition_unknown' | 'query_too_complex' | 'enum' | 'timestamp' | 'type'

  constructor(code: QueryProblem['code'], message: string) {
    super(message)
    this.code = code
  }
}

const MOST_TERMS = 100
const LONGEST_VALUE = 256
const TERM = /^(-?)(?:([A-Za-z]+):(>=|<=|>|<)?)?(?:"([^"]*)"|\(([^()]*)\)|([^\s"()]+))(?=\s|$)/
const OPERATORS: Readonly<Record<string, LogOperator>> = { '>=': 'gte', '>': 'gt', '<=': 'lte', '<': 'lt' }

/**
 * Reads the text of a search: terms that must all hold, each `word`, `"a phrase"`, `field:value`, `field:>=500`,
 * `field:(a or b)`, with `-` in front to exclude. Throws QueryProblem.
 */
export function parseQueryText(query: string): LogCondition {
  const parts: LogCondition[] = []
  let at = 0
  for (;;) {
    while (/\s/.test(query[at] ?? '')) at += 1
    if (at >= query.length) return { and: parts }
    const where = `in column ${at + 1}`
    const match = TERM.exec(query.slice(at))
    if (!match) throw new QueryProblem('condition_invalid', `${where}: a word, "a phrase" or field:value is wanted`)
    parts.push(termCondition(match, where))
    if (parts.length > MOST_TERMS) throw new QueryProblem('query_too_complex', `more than ${MOST_TERMS} terms`)
    at += match[0].length
  }
}

function termCondition(match: RegExpExecArray, where: string): LogCondition {
  const [, minus, field, operator, phrase, choice, word] = match
  const values = choice === undefined ? [phrase ?? word ?? ''] : choice.split(/\s+or\s+/i).map(each => each.trim())
  if (values.some(value => value === '')) throw new QueryProblem('condition_invalid', `${where}: the value is empty`)
  if (field === undefined && choice !== undefined)
    throw new QueryProblem('condition_invalid', `${where}: a choice in brackets needs a field in front`)
  const condition =
    field === undefined
      ? { text: checkLength(values[0] ?? '', where) }
      : fieldCondition(field, operatorOf(operator, values.length), values, where)
  return minus === '-' ? { not: condition } : condition
}

function operatorOf(text: string | undefined, values: number): LogOperator {
  const without = values > 1 ? 'in' : 'eq'
  return text === undefined ? without : (OPERATORS[text] ?? 'eq')
}

/** A condition on one field, its values read by the kind of the field. Throws QueryProblem. */
export function fieldCondition(
  field: string,
  op: LogOperator,
  values: readonly (string | number)[],
  where: string,
): LogCondition {
  if (!(LOG_FIELDS as readonly string[]).includes(field)) {
    throw new QueryProblem('condition_unknown', `${where}: there is no field "${field.slice(0, 64)}"`)
  }
  return { field, op, values: values.map(value => readValue(field, value, where)) }
}

function readValue(field: string, value: string | number, where: string): string | number {
  if (field === 'duration') {
    const ms = typeof value === 'number' || !/^\d+$/.test(value) ? parseDuration(value) : Number(value)
    if (ms === undefined) throw new QueryProblem('type', `${where}: a duration in milliseconds, or such as 2s`)
    return ms
  }
  if (typeof value !== 'string') throw new QueryProblem('type', `${where}: a text is wanted`)
  if (field === 'level') {
    const severity = severityOf(value)
    if (severity === undefined) throw new QueryProblem('enum', `${where}: ERROR, WARN, INFO, DEBUG or TRACE`)
    return severity
  }
  if (field === 'timestamp') return readTime(value, 'from', where)
  return checkLength(value, where)
}

/** A time, or a date: as `to` it includes that UTC day. Milliseconds since 1970. Throws QueryProblem. */
export function readTime(text: string, edge: 'from' | 'to', where: string): number {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text)
  const ms = parseTimestamp(isDate ? `${text}T00:00:00Z` : text)
  if (ms === undefined) throw new QueryProblem('timestamp', `${where}: such as 2026-11-22 or 2026-11-22T09:30:00Z`)
  return isDate && edge === 'to' ? ms + 86_400_000 - 1 : ms
}

function checkLength(text: string, where: string): string {
  if (text.length <= LONGEST_VALUE) return text
  throw new QueryProblem('query_too_complex', `${where}: a value has at most ${LONGEST_VALUE} characters`)
}
