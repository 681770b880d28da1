import { isJsonObject, type JsonObject, type JsonValue, type UserActor } from 'patchbay/contract'
import type { LogCondition, LogOperator, PluginPeople, PluginServers } from 'patchbay/features'
import { pointerToken, wrong } from 'patchbay/plugin-kit'
import { fieldCondition, QueryProblem } from '../query-text.ts'
import { type TaggedThings, Tags } from './tags.ts'

/** The servers and users whose names a query may have, and the things whose tags it may have. */
export interface NamedRecords extends TaggedThings {
  readonly servers: Pick<PluginServers, 'find' | 'list'>
  readonly people: Pick<PluginPeople, 'byName'>
}

const DEEPEST = 8
const MOST_CONDITIONS = 100
const MOST_VALUES = 100
const LONGEST_TEXT = 256
/** Names of servers and users, and tags, in one query. */
const MOST_NAMES = 100
const NAMED: ReadonlySet<string> = new Set(['server', 'user', 'tag'])
const OPERATORS = new Set<string>(['eq', 'in', 'gte', 'gt', 'lte', 'lt', 'contains', 'prefix'])

/** Reads the conditions of a body: `{and}`, `{or}`, `{not}`, `{text}`, `{field: value}`,
 * `{field: {operator: value}}`. `{level: value}` is that level and worse, as the parameter of GET. Throws `validation_failed`
 * with a pointer. */
export function readConditions(query: JsonObject): LogCondition {
  const count = { left: MOST_CONDITIONS }
  return readCondition(query, '#/query', 1, count)
}

function readCondition(value: JsonValue, at: string, depth: number, count: { left: number }): LogCondition {
  if (!isJsonObject(value)) throw wrong(at, 'type', 'an object with one condition is wanted')
  if (depth > DEEPEST) throw wrong(at, 'query_too_complex', `conditions may be nested ${DEEPEST} deep`)
  const parts = Object.entries(value).map(([key, inner]) => {
    count.left -= 1
    if (count.left < 0) throw wrong(at, 'query_too_complex', `there may be ${MOST_CONDITIONS} conditions`)
    const here = `${at}/${pointerToken(key)}`
    if (key === 'not') return { not: readCondition(inner, here, depth + 1, count) }
    if (key === 'text') return textCondition(inner, here)
    if (key !== 'and' && key !== 'or') return readField(key, inner, here)
    if (!Array.isArray(inner)) throw wrong(here, 'type', 'a list of conditions is wanted')
    const list = inner.map((each, index) => readCondition(each, `${here}/${index}`, depth + 1, count))
    return key === 'and' ? { and: list } : { or: list }
  })
  return parts.length === 1 && parts[0] ? parts[0] : { and: parts }
}

function textCondition(value: JsonValue, at: string): LogCondition {
  if (typeof value !== 'string' || value === '') throw wrong(at, 'type', 'a text is wanted')
  if (value.length > LONGEST_TEXT) throw wrong(at, 'query_too_complex', `a text has at most ${LONGEST_TEXT} characters`)
  return { text: value }
}

function readField(field: string, value: JsonValue, at: string): LogCondition {
  if (!isJsonObject(value)) return condition(field, field === 'level' ? 'gte' : 'eq', [value], at)
  const parts = Object.entries(value).map(([op, operand]) => {
    const here = `${at}/${pointerToken(op)}`
    if (!OPERATORS.has(op)) throw wrong(here, 'condition_unknown', `${[...OPERATORS].join(', ')} are the operators`)
    if (op !== 'in') return condition(field, op as LogOperator, [operand], here)
    if (!Array.isArray(operand)) throw wrong(here, 'type', 'a list of values is wanted')
    if (operand.length < 1 || operand.length > MOST_VALUES) throw wrong(here, 'length', `1 to ${MOST_VALUES} values`)
    return condition(field, 'in', operand, here)
  })
  return parts.length === 1 && parts[0] ? parts[0] : { and: parts }
}

function condition(field: string, op: LogOperator, values: readonly JsonValue[], at: string): LogCondition {
  const plain = values.map(value => {
    if (typeof value === 'string' || typeof value === 'number') return value
    throw wrong(at, 'type', 'a text or a number is wanted')
  })
  return asField(at, () => fieldCondition(field, op, plain, field, Date.now()))
}

/** Turns a problem of the query into one of the request. */
export function asField<T>(pointer: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof QueryProblem) throw wrong(pointer, error.code, error.message)
    throw error
  }
}

/**
 * Replaces names of servers and users, and tags of servers and groups, with ids, as the actor sees them. A name or tag that does not
 * exist, or that the actor may not see, matches no record. Throws `query_too_complex` at `pointer` for more than 100 names, since each is read from the
 * store.
 */
export async function withIds(
  value: LogCondition,
  actor: UserActor,
  records: NamedRecords,
  pointer: string,
): Promise<LogCondition> {
  if (countNames(value) > MOST_NAMES) throw wrong(pointer, 'query_too_complex', `there may be ${MOST_NAMES} names`)
  return replaceNames(value, actor, records, new Tags(actor, records))
}

/** The names of servers and users, and the tags, in a condition. */
function countNames(value: LogCondition): number {
  if ('not' in value) return countNames(value.not)
  const parts = 'and' in value ? value.and : 'or' in value ? value.or : []
  if (parts.length > 0) return parts.reduce((sum, part) => sum + countNames(part), 0)
  return 'field' in value && NAMED.has(value.field) ? value.values.length : 0
}

async function replaceNames(
  value: LogCondition,
  actor: UserActor,
  records: NamedRecords,
  tags: Tags,
): Promise<LogCondition> {
  const replaced = (part: LogCondition) => replaceNames(part, actor, records, tags)
  const all = (parts: readonly LogCondition[]) => Promise.all(parts.map(replaced))
  if ('and' in value) return { and: await all(value.and) }
  if ('or' in value) return { or: await all(value.or) }
  if ('not' in value) return { not: await replaced(value.not) }
  if ('text' in value || (value.op !== 'eq' && value.op !== 'in')) return value
  if (value.field === 'tag') {
    const { serverIds, groupIds } = await tags.ids(value.values.map(String))
    const isOf = (field: string, values: readonly string[]): LogCondition => ({ field, op: 'in', values })
    return { or: [isOf('serverId', serverIds), isOf('groupId', groupIds)] }
  }
  if (value.field !== 'server' && value.field !== 'user') return value
  const find = async (name: string): Promise<string | undefined> => {
    try {
      const found = value.field === 'server' ? records.servers.find(actor, name) : records.people.byName(actor, name)
      return (await found).id
    } catch {
      return value.field === 'user' && name === actor.name ? actor.userId : undefined
    }
  }
  const ids = (await Promise.all(value.values.map(name => find(String(name))))).filter(id => id !== undefined)
  return { field: value.field === 'server' ? 'serverId' : 'userId', op: 'in', values: ids }
}
