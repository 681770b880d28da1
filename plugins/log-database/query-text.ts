import type { LogCondition, LogOperator } from 'patchbay/features'
import { LOG_FIELDS, parseDuration, parseTime, severityOf, visibleText } from 'patchbay/log-kit'

/** An error in a query. `column`: its position in the text, from 1. */
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
 * `field:(a or b)`, with `-` in front to exclude. `nowMs`: for times such as `now-1h`, milliseconds since 1970. Throws QueryProblem.
 */
export function parseQueryText(given: string, nowMs?: number): LogCondition {
  // Records have hidden characters in this form.
  const query = visibleText(given)
  const parts: LogCondition[] = []
  let at = 0
  for (;;) {
    while (/\s/.test(query[at] ?? '')) at += 1
    if (at >= query.length) return { and: parts }
    const where = `in column ${at + 1}`
    const match = TERM.exec(query.slice(at))
    if (!match) throw new QueryProblem('condition_invalid', `${where}: ${wordsFor(query.slice(at))}`)
    parts.push(termCondition(match, where, nowMs))
    if (parts.length > MOST_TERMS) throw new QueryProblem('query_too_complex', `more than ${MOST_TERMS} terms`)
    at += match[0].length
  }
}

/** Why no term begins with this text. */
function wordsFor(rest: string): string {
  if (/^-?(?:[A-Za-z]+:(?:>=|<=|>|<)?)?"[^"]*$/.test(rest)) return 'the closing quote is missing'
  return 'a word, "a phrase" or field:value is wanted; a text with brackets stands in quotes'
}

function termCondition(match: RegExpExecArray, where: string, nowMs: number | undefined): LogCondition {
  const [, minus, field, operator, phrase, choice, word] = match
  const values = choice === undefined ? [phrase ?? word ?? ''] : choice.split(/\s+or\s+/i).map(each => each.trim())
  if (values.some(value => value === '')) throw new QueryProblem('condition_invalid', `${where}: the value is empty`)
  if (field === undefined && choice !== undefined)
    throw new QueryProblem('condition_invalid', `${where}: a choice in brackets needs a field in front`)
  if (field !== undefined && !isField(field)) {
    const wanted = `${missingField(field, where)}; a text with a colon stands in quotes`
    throw new QueryProblem('condition_unknown', wanted)
  }
  const condition =
    field === undefined
      ? { text: checkLength(values[0] ?? '', where) }
      : fieldCondition(field, operatorOf(operator, values.length), values, where, nowMs)
  return minus === '-' ? { not: condition } : condition
}

function operatorOf(text: string | undefined, values: number): LogOperator {
  const without = values > 1 ? 'in' : 'eq'
  return text === undefined ? without : (OPERATORS[text] ?? 'eq')
}

function isField(name: string): boolean {
  return (LOG_FIELDS as readonly string[]).includes(name)
}

function missingField(name: string, where: string): string {
  return `${where}: there is no field "${name.slice(0, 64)}"; there are ${LOG_FIELDS.join(', ')}`
}

/** A condition on one field, its values read by the kind of the field; a date is its UTC day. Throws QueryProblem. */
export function fieldCondition(
  field: string,
  op: LogOperator,
  values: readonly (string | number)[],
  where: string,
  nowMs?: number,
): LogCondition {
  if (!isField(field)) throw new QueryProblem('condition_unknown', missingField(field, where))
  const isPart = op === 'contains' || op === 'prefix'
  if (isPart && ['timestamp', 'level', 'duration'].includes(field)) {
    throw new QueryProblem('condition_unknown', `${where}: "${field}" is no text, which "${op}" looks into`)
  }
  // Records hold only the user's id, so a user is matched by the full name.
  if (field === 'user' && op !== 'eq' && op !== 'in') {
    throw new QueryProblem('condition_unknown', `${where}: a user is named in full, alone or in a list`)
  }
  // Records have no tags: a tag is replaced by the servers and groups that have it now.
  if (field === 'tag' && op !== 'eq' && op !== 'in') {
    throw new QueryProblem('condition_unknown', `${where}: a tag is named in full, alone or in a list`)
  }
  if (field === 'timestamp') return timeCondition(op, values, where, nowMs)
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
  return checkLength(value, where)
}

function timeCondition(
  op: LogOperator,
  values: readonly (string | number)[],
  where: string,
  nowMs: number | undefined,
): LogCondition {
  const spans = values.map(value => {
    if (typeof value !== 'string') throw new QueryProblem('type', `${where}: a text is wanted`)
    return { first: readTime(value, 'from', where, nowMs), last: readTime(value, 'to', where, nowMs) }
  })
  const at = (operator: LogOperator, ms: number): LogCondition => ({ field: 'timestamp', op: operator, values: [ms] })
  const each = spans.map(({ first, last }): LogCondition => {
    if (op === 'gte' || op === 'lt') return at(op, first)
    if (op === 'lte' || op === 'gt') return at(op, last)
    return first === last ? at('eq', first) : { and: [at('gte', first), at('lte', last)] }
  })
  return each.length === 1 && each[0] ? each[0] : { or: each }
}

/** A time, one by `now` such as `now-15m`, or a date: as `to` it includes that UTC day. Milliseconds since 1970. Throws QueryProblem. */
export function readTime(text: string, edge: 'from' | 'to', where: string, nowMs?: number): number {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text)
  const ms = parseTime(isDate ? `${text}T00:00:00Z` : text, nowMs)
  if (ms === undefined)
    throw new QueryProblem('timestamp', `${where}: such as 2026-11-22, 2026-11-22T09:30:00Z, now or now-1h`)
  return isDate && edge === 'to' ? ms + 86_400_000 - 1 : ms
}

function checkLength(text: string, where: string): string {
  if (text.length <= LONGEST_VALUE) return text
  throw new QueryProblem('query_too_complex', `${where}: a value has at most ${LONGEST_VALUE} characters`)
}
