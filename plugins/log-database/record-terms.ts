import type { FieldCondition, LogCondition, LogOperator, LogRecord } from 'patchbay/features'
import { SEVERITIES } from 'patchbay/log-kit'
import {
  folded,
  INDEXED,
  LONGEST_KEPT,
  levelTerm,
  nameTerm,
  requestTerm,
  substringTerms,
  TextTerms,
  textTerms,
} from './log-terms.ts'

const LEVELS = Object.keys(SEVERITIES) as (keyof typeof SEVERITIES)[]

/** Terms that a record has to have; undefined where terms cannot decide. */
export type TermExpression =
  | string
  | { readonly all: readonly TermExpression[] }
  | { readonly any: readonly TermExpression[] }
  | WantedText

/** Some text of the record must contain this one, folded. A text that is not an id then has these terms. */
interface WantedText {
  readonly wanted: string
  readonly terms: TermExpression
}

/** Index entries by which a record is found. */
export interface RecordIndex {
  /** Terms joined by spaces; a term may occur twice. */
  readonly terms: string
  /** Ids that occur in many records; they are not among `terms` as texts. */
  readonly ids: readonly string[]
}

/** A longer list of ids does not narrow a search by terms: each record is compared with the list instead. */
const MOST_TERMS = 200

/** Members with ids that the hub creates, and that occur in many records. */
const ID_MEMBERS: ReadonlySet<string> = new Set(['serverId', 'userId', 'keyId', 'groupId'])

/** A record as it is searched. */
export type SearchedRecord = LogRecord & { readonly serverId?: string }

/**
 * Returns the index entries of a record. `readers`: ids of the users who may read it besides administrators; `texts`: cache of
 * the terms of texts.
 */
export function indexOf(
  record: SearchedRecord,
  readers: readonly string[],
  texts: TextTerms = new TextTerms(),
): RecordIndex {
  const terms = nameTerms(record, readers)
  const { requestId, traceId } = record
  const ids: string[] = []
  for (const [key, text] of textMembers(record)) {
    if (ID_MEMBERS.has(key) && text.length <= LONGEST_KEPT) ids.push(text)
    // Ids that occur once are not cached: they would only displace other texts.
    else terms.push(text === requestId || text === traceId ? textTerms(text) : texts.of(text))
  }
  return { terms: terms.filter(each => each !== '').join(' '), ids }
}

/** The level, the readers, and the names by which records are filtered. */
function nameTerms(record: SearchedRecord, readers: readonly string[]): string[] {
  const terms = [levelTerm(record.level)]
  for (const reader of readers) terms.push(nameTerm('r', reader))
  const { serverId, userId, tool, component, status, outcome, requestId } = record
  // A plugin may have given a field another type.
  if (typeof serverId === 'string') terms.push(nameTerm('s', serverId))
  if (typeof userId === 'string') terms.push(nameTerm('u', userId))
  if (typeof tool === 'string') terms.push(nameTerm('t', folded(tool)))
  if (typeof component === 'string') terms.push(nameTerm('k', folded(component)))
  if (typeof status === 'string') terms.push(nameTerm('x', folded(status)))
  if (typeof outcome === 'string') terms.push(nameTerm('o', folded(outcome)))
  if (typeof requestId === 'string') terms.push(requestTerm(requestId))
  return terms
}

/** The message and the string members of a record, in which free text is searched. */
function textMembers(record: SearchedRecord): (readonly [name: string, text: string])[] {
  const members: (readonly [string, string])[] = []
  for (const key in record) {
    const value = record[key]
    if (key !== 'timestamp' && key !== 'level' && typeof value === 'string') members.push([key, value])
  }
  return members
}

/** Terms that all records matching the condition have; undefined: the index cannot narrow the search. */
export function termsFor(condition: LogCondition): TermExpression | undefined {
  if ('and' in condition)
    return joined(
      'all',
      condition.and.map(termsFor).filter(each => each !== undefined),
    )
  if ('or' in condition) {
    const parts = condition.or.map(termsFor)
    return parts.includes(undefined) ? undefined : joined('any', parts as TermExpression[])
  }
  if ('not' in condition) return undefined
  if ('text' in condition) return containing(condition.text)
  return fieldTerms(condition)
}

function fieldTerms({ field, op, values }: FieldCondition): TermExpression | undefined {
  if (field === 'level') {
    const levels = LEVELS.filter(level => compare(op, SEVERITIES[level], values))
    // All five levels together are no restriction.
    return levels.length === LEVELS.length ? undefined : anyOf(levels.map(levelTerm))
  }
  if (op === 'contains' || op === 'prefix') {
    return field === 'timestamp' || field === 'duration' ? undefined : containing(String(values[0]))
  }
  if (op !== 'eq' && op !== 'in') return undefined
  if (values.length > MOST_TERMS) return undefined
  const texts = values.map(String)
  switch (field) {
    case 'serverId':
      return anyOf(texts.map(id => nameTerm('s', id)))
    case 'userId':
      return anyOf(texts.map(id => nameTerm('u', id)))
    case 'requestId':
      return anyOf(texts.map(requestTerm))
    case 'tool':
      return anyOf(texts.map(name => nameTerm('t', folded(name))))
    case 'component':
      return anyOf(texts.map(name => nameTerm('k', folded(name))))
    case 'status':
      return anyOf(texts.map(name => nameTerm('x', folded(name))))
    case 'outcome':
      return anyOf(texts.map(name => nameTerm('o', folded(name))))
    case 'timestamp':
    case 'duration':
      return undefined
    default: {
      const parts = texts.map(containing)
      return parts.includes(undefined) ? undefined : anyOf(parts as TermExpression[])
    }
  }
}

/** Undefined for a text that is too short for terms. */
function containing(text: string): TermExpression | undefined {
  const terms = joined('all', substringTerms(text))
  return terms === undefined ? undefined : { wanted: folded(text), terms }
}

/** An `any` of nothing is met by no record. */
function anyOf(parts: readonly TermExpression[]): TermExpression {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { any: parts }
}

function joined(kind: 'all' | 'any', parts: readonly TermExpression[]): TermExpression | undefined {
  if (parts.length === 0) return kind === 'all' ? undefined : { any: [] }
  if (parts.length === 1) return parts[0]
  return kind === 'all' ? { all: parts } : { any: parts }
}

/** True when a record matches the condition. */
export function matches(record: SearchedRecord, condition: LogCondition): boolean {
  if ('and' in condition) return condition.and.every(each => matches(record, each))
  if ('or' in condition) return condition.or.some(each => matches(record, each))
  if ('not' in condition) return !matches(record, condition.not)
  if ('text' in condition) {
    const wanted = folded(condition.text)
    return textMembers(record).some(([, text]) => folded(text.slice(0, INDEXED)).includes(wanted))
  }
  const { field, op, values } = condition
  if (field === 'level') return compare(op, SEVERITIES[record.level], values)
  if (field === 'timestamp') return compare(op, Date.parse(record.timestamp), values)
  const value = record[field]
  if (typeof value === 'number') return compare(op, value, values)
  if (typeof value !== 'string') return false
  // Ids are compared as they are, names by their folded form.
  if (field.endsWith('Id') && (op === 'eq' || op === 'in')) return values.includes(value)
  return compare(
    op,
    folded(value),
    values.map(each => folded(String(each))),
  )
}

function compare(op: LogOperator, value: string | number, values: readonly (string | number)[]): boolean {
  const [first] = values
  switch (op) {
    case 'eq':
      return value === first
    case 'in':
      return values.includes(value)
    case 'contains':
      return String(value).includes(String(first))
    case 'prefix':
      return String(value).startsWith(String(first))
    default:
      if (first === undefined || typeof value !== typeof first) return false
      if (op === 'gte') return value >= first
      if (op === 'gt') return value > first
      return op === 'lte' ? value <= first : value < first
  }
}

/** True when conditions on `timestamp` that must all hold exclude every time of a range, both in ms since 1970. */
export function excludesTimes(condition: LogCondition, from: number, to: number): boolean {
  if ('and' in condition) return condition.and.some(each => excludesTimes(each, from, to))
  if (!('field' in condition) || condition.field !== 'timestamp') return false
  const [first] = condition.values
  if (typeof first !== 'number') return false
  if (condition.op === 'gte' || condition.op === 'gt') return to < first
  return (condition.op === 'lte' || condition.op === 'lt') && from > first
}
