import type { LogQuery, LogRecord } from './api.ts'
import { LEVELS } from './levels.ts'
import { hasTagOf, type TaggedIds } from './tagged.ts'

/** Fields of a query, in the hub's spelling. */
export const QUERY_FIELDS = [
  ...(['level', 'server', 'tool', 'user', 'status', 'code', 'message', 'requestId', 'duration', 'component'] as const),
  ...(['group', 'timestamp', 'userId', 'keyId', 'serverId', 'groupId', 'traceId', 'tag'] as const),
  ...(['outcome', 'error', 'clientName', 'clientVersion', 'keyLabel'] as const),
]

/** Comparison operator of a term. */
export type QueryOperator = 'eq' | 'gte' | 'gt' | 'lte' | 'lt'

/** One term of a query. All terms must hold. */
export interface QueryTerm {
  /** Absent: text anywhere in the record. */
  readonly field?: string
  readonly op: QueryOperator
  /** Several: one of them. */
  readonly values: readonly string[]
  readonly excluded: boolean
  /** Start in the text, from 0, and the offset after its end. */
  readonly start: number
  readonly end: number
}

/** A mistake in a query. The position counts characters from 1. */
export interface QueryMistake {
  readonly position: number
  readonly kind: 'equals' | 'field' | 'level' | 'duration' | 'time' | 'empty' | 'quote' | 'bracket' | 'choice' | 'long'
  /** Text at this place. */
  readonly found: string
  /** Suggested replacement, if there is one. */
  readonly instead?: string
}

/** A query as read: its terms up to the first mistake. */
export interface ParsedQuery {
  readonly terms: readonly QueryTerm[]
  readonly mistake?: QueryMistake
}

const LONGEST_VALUE = 256
const MOST_TERMS = 100
const OPERATORS: Readonly<Record<string, QueryOperator>> = { '>=': 'gte', '>': 'gt', '<=': 'lte', '<': 'lt' }
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

class Mistake extends Error {
  readonly what: QueryMistake

  constructor(what: QueryMistake) {
    super(what.kind)
    this.what = what
  }
}

/**
 * Parses the text of the query box: `word`, `"a phrase"`, `field:value`, `field:>=500`, `field:(a or b)`; a leading `-`
 * excludes. The terms before an error are still returned.
 */
export function parseQuery(text: string): ParsedQuery {
  const terms: QueryTerm[] = []
  let at = 0
  try {
    for (;;) {
      while (/\s/.test(text[at] ?? '')) at += 1
      if (at >= text.length) return { terms }
      if (terms.length >= MOST_TERMS) throw new Mistake({ position: at + 1, kind: 'long', found: '' })
      const term = readTerm(text, at)
      terms.push(term)
      at = term.end
    }
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    return { terms, mistake: error.what }
  }
}

function readTerm(text: string, start: number): QueryTerm {
  const excluded = text[start] === '-' && /\S/.test(text[start + 1] ?? '')
  let at = excluded ? start + 1 : start
  const equals = /^([A-Za-z]+)=/.exec(text.slice(at))
  if (equals) refuseEquals(text, at, equals[1] ?? '')
  const named = /^([A-Za-z]+):/.exec(text.slice(at))
  let field: string | undefined
  let op: QueryOperator = 'eq'
  if (named) {
    field = knownField(named[1] ?? '', at)
    at += named[0].length
    const sign = /^(>=|<=|>|<)/.exec(text.slice(at))?.[0]
    if (sign !== undefined) {
      op = OPERATORS[sign] ?? 'eq'
      at += sign.length
    }
  }
  const { values, end } = readValues(text, at, field !== undefined)
  for (const { value, position } of values) checkValue(field, value, position)
  return {
    ...(field === undefined ? {} : { field }),
    ...{ op, values: values.map(({ value }) => value), excluded, start, end },
  }
}

/** `server=github` is what other query languages write. Words with "=" in them that name no field are text. */
function refuseEquals(text: string, at: number, name: string): void {
  const field = QUERY_FIELDS.find(known => known.toLowerCase() === name.toLowerCase())
  if (!field) return
  const value = /^\S*/.exec(text.slice(at + name.length + 1))?.[0] ?? ''
  throw new Mistake({ position: at + name.length + 1, kind: 'equals', found: '=', instead: `${field}:${value}` })
}

function knownField(name: string, at: number): string {
  const field = QUERY_FIELDS.find(known => known.toLowerCase() === name.toLowerCase())
  if (field) return field
  const near = QUERY_FIELDS.map(known => ({ known, far: distance(known.toLowerCase(), name.toLowerCase()) }))
    .toSorted((left, right) => left.far - right.far)
    .find(({ far }) => far <= 2)?.known
  throw new Mistake({ position: at + 1, kind: 'field', found: name, ...(near ? { instead: `${near}:` } : {}) })
}

interface PlacedValue {
  readonly value: string
  readonly position: number
}

function readValues(
  text: string,
  at: number,
  isField: boolean,
): { readonly values: readonly PlacedValue[]; readonly end: number } {
  if (text[at] === '"') {
    const close = text.indexOf('"', at + 1)
    if (close < 0) throw new Mistake({ position: at + 1, kind: 'quote', found: '"' })
    const value = text.slice(at + 1, close)
    if (value === '') throw new Mistake({ position: at + 1, kind: 'empty', found: '""' })
    return { values: [{ value, position: at + 1 }], end: close + 1 }
  }
  if (text[at] === '(') return readChoice(text, at, isField)
  const value = /^[^\s"()]*/.exec(text.slice(at))?.[0] ?? ''
  if (value === '') throw new Mistake({ position: at + 1, kind: 'empty', found: text[at]?.trim() ?? '' })
  return { values: [{ value, position: at + 1 }], end: at + value.length }
}

function readChoice(text: string, at: number, isField: boolean): ReturnType<typeof readValues> {
  if (!isField) throw new Mistake({ position: at + 1, kind: 'choice', found: '(' })
  const close = text.indexOf(')', at)
  if (close < 0) throw new Mistake({ position: at + 1, kind: 'bracket', found: '(' })
  const values = text
    .slice(at + 1, close)
    .split(/\s+or\s+/i)
    .map(value => ({ value: value.trim(), position: at + 2 }))
  if (values.some(({ value }) => value === '')) throw new Mistake({ position: at + 1, kind: 'empty', found: '()' })
  return { values, end: close + 1 }
}

function checkValue(field: string | undefined, value: string, position: number): void {
  if (value.length > LONGEST_VALUE) throw new Mistake({ position, kind: 'long', found: `${value.slice(0, 16)}…` })
  if (field === 'level' && !(LEVELS as readonly string[]).includes(value.toUpperCase())) {
    const near = LEVELS.find(level => level.startsWith(value.toUpperCase().slice(0, 1)))
    throw new Mistake({ position, kind: 'level', found: value, ...(near ? { instead: `level:${near}` } : {}) })
  }
  if (field === 'duration' && !DURATION.test(value)) throw new Mistake({ position, kind: 'duration', found: value })
  if (field === 'timestamp' && Number.isNaN(Date.parse(value)))
    throw new Mistake({ position, kind: 'time', found: value })
}

/** Number of single-character edits between two words, up to 3. */
function distance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 2) return 3
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= right.length; j += 1) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same)
    }
    row = next
  }
  return row[right.length] ?? 3
}

/** A term as a condition of the search. */
export function conditionOf({ field, op, values, excluded }: QueryTerm): LogQuery {
  const condition = positive(field, op, values)
  return excluded ? { not: condition } : condition
}

function positive(field: string | undefined, op: QueryOperator, values: readonly string[]): LogQuery {
  if (field === undefined) return { text: values[0] }
  const typed = values.map(value => typedValue(field, value))
  if (op === 'eq') return { [field]: typed.length === 1 ? typed[0] : { in: typed } }
  return { [field]: { [op]: typed[0] } }
}

function typedValue(field: string, value: string): string | number {
  if (field === 'level') return value.toUpperCase()
  return field === 'duration' ? milliseconds(value) : value
}

function milliseconds(text: string): number {
  const [, number = '0', unit = 'ms'] = DURATION.exec(text) ?? []
  return Number(number) * (UNITS[unit] ?? 1)
}

/** True when a live record matches a term, by the same rules as in the hub. */
export function meetsTerm(record: LogRecord, term: QueryTerm, tagged: TaggedIds): boolean {
  return holds(record, term, tagged) !== term.excluded
}

function holds(record: LogRecord, { field, op, values }: QueryTerm, tagged: TaggedIds): boolean {
  const [first = ''] = values
  if (field === undefined) return Object.entries(record).some(([name, value]) => isText(name, value, first))
  if (field === 'level') return compare(op, -LEVELS.indexOf(record.level), values.map(rank))
  if (field === 'timestamp') return compare(op, Date.parse(record.timestamp), values.map(Date.parse))
  if (field === 'duration') {
    return typeof record.duration === 'number' && compare(op, record.duration, values.map(milliseconds))
  }
  if (field === 'tag') return values.some(tag => hasTagOf(record, tag, tagged))
  const value = record[field]
  if (field === 'server' && op === 'eq') return values.some(name => isServer(record, name))
  if (typeof value !== 'string') return false
  return compare(
    op,
    folded(value),
    values.map(each => folded(each)),
  )
}

/** `owner~name` or `name`, against the name that the record has. */
function isServer({ server }: LogRecord, wanted: string): boolean {
  if (server === undefined) return false
  const name = folded(server)
  const wantedName = folded(wanted)
  return name === wantedName || wantedName.endsWith(`~${name}`) || name.endsWith(`~${wantedName}`)
}

function isText(name: string, value: unknown, wanted: string): boolean {
  return name !== 'timestamp' && name !== 'level' && typeof value === 'string' && folded(value).includes(folded(wanted))
}

function rank(level: string): number {
  return -(LEVELS as readonly string[]).indexOf(level.toUpperCase())
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

function compare<T extends string | number>(op: QueryOperator, value: T, wanted: readonly T[]): boolean {
  const [first] = wanted
  if (op === 'eq') return wanted.includes(value)
  if (first === undefined) return false
  if (op === 'gte') return value >= first
  if (op === 'gt') return value > first
  return op === 'lte' ? value <= first : value < first
}

/** A term as text, such as `-server:github`; values with spaces or signs in quotes. */
export function termText(field: string | undefined, value: string, excluded = false): string {
  const text = /^[^\s"()]+$/.test(value) && !value.startsWith('-') ? value : `"${value.replaceAll('"', '')}"`
  return `${excluded ? '-' : ''}${field === undefined ? '' : `${field}:`}${text}`
}
