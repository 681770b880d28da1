import { QueryMistake, type Token, TokenReader } from '../query-tokens.ts'
import { wordIn } from '../spelling/words.ts'
import { inRange, METRIC_NAMES, type MetricInfo, metricInfo, metricName, UNITS } from './metrics.ts'

/** Longest text of a condition, in characters. */
export const CONDITION_CHARACTERS = 1_024
/** The default window of a metric, and the limits of a window, in milliseconds. */
export const WINDOW_MS = { usual: 60_000, least: 10_000, most: 24 * 60 * 60_000 } as const

export const STATES = ['online', 'connecting', 'offline'] as const
const METRICS_KNOWN = `there are ${METRIC_NAMES.join(', ')}, custom.NAME for what users report, and PLUGIN.NAME for those of plugins`
export const SELECTOR_FIELDS = ['server', 'owner', 'group', 'tag', 'tool', 'level', 'code', 'kind'] as const
const OPERATORS = ['>', '>=', '<', '<=', '==', '!='] as const

/** A parsed condition. Lists of `and` and `or` have at least two parts, none of the same kind. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | ConditionTest

/** One comparison. */
export interface ConditionTest {
  readonly kind: 'test'
  readonly query: MetricQuery
  readonly op: (typeof OPERATORS)[number]
  /** In the base unit of the metric; `threshold`: the rule's own number. */
  readonly value: number | 'threshold' | { readonly state: (typeof STATES)[number] }
}

/** Query of a test: a metric, its subjects, and its time range. */
export interface MetricQuery {
  readonly metric: string
  readonly selector: readonly {
    readonly field: (typeof SELECTOR_FIELDS)[number]
    readonly equal: boolean
    readonly text: string
  }[]
  /** Milliseconds; absent for metrics that have no window. */
  readonly windowMs?: number
}

/** Position and reason of a syntax error in a condition; columns count from 1. */
export interface ConditionError {
  readonly column: number
  readonly message: string
}

/** Parses a condition; returns the first error with its column if it is invalid. */
export function parseCondition(text: string): { readonly condition: Condition } | { readonly error: ConditionError } {
  try {
    return { condition: new Parser(text).whole() }
  } catch (error) {
    if (!(error instanceof QueryMistake)) throw error
    return { error: { column: error.column, message: error.message } }
  }
}

/** All tests of a condition, from left to right. */
export function testsOf(condition: Condition): readonly ConditionTest[] {
  if (condition.kind === 'test') return [condition]
  return condition.kind === 'not' ? testsOf(condition.part) : condition.parts.flatMap(testsOf)
}

/** Joins parts and flattens those of the same kind, so that one condition has one form. */
export function joined(kind: 'and' | 'or', parts: readonly Condition[]): Condition {
  const flat = parts.flatMap(part => (part.kind === kind ? part.parts : [part]))
  const [only] = flat
  return flat.length === 1 && only ? only : { kind, parts: flat }
}

class Parser {
  readonly #read: TokenReader

  constructor(text: string) {
    this.#read = new TokenReader(text, 'a condition', CONDITION_CHARACTERS)
  }

  whole(): Condition {
    const condition = this.#list('or')
    if (this.#read.next.kind !== 'end') throw this.#read.mistake(`${shown(this.#read.next)} does not belong here`)
    return condition
  }

  #list(kind: 'and' | 'or'): Condition {
    const part = (): Condition => (kind === 'or' ? this.#list('and') : this.#unary())
    const parts = [part()]
    while (this.#read.take(kind, kind === 'or' ? '||' : '&&')) parts.push(part())
    return joined(kind, parts)
  }

  #unary(): Condition {
    if (this.#read.take('not', '!')) return { kind: 'not', part: this.#unary() }
    if (!this.#read.take('(')) return this.#test()
    const condition = this.#list('or')
    this.#read.require(')', 'after the condition in brackets')
    return condition
  }

  #test(): ConditionTest {
    const name = this.#read.next
    if (name.kind !== 'name') throw this.#read.mistake(`a metric is missing; ${METRICS_KNOWN}`)
    const metric = metricName(name.text)
    const info = metric === undefined ? undefined : metricInfo(metric)
    if (metric === undefined || !info) throw this.#read.mistake(`there is no metric "${name.text}"; ${METRICS_KNOWN}`)
    this.#read.skip()
    const query = { metric, selector: this.#selector(), ...this.#window(info) }
    const operator = this.#read.next
    if (!this.#read.take(...OPERATORS)) {
      if (info.dimension === 'state') throw this.#read.mistake(`"${name.text}" wants == or != and a state`)
      return { kind: 'test', query, op: '>', value: 'threshold' }
    }
    const op = operator.text as ConditionTest['op']
    return { kind: 'test', query, op, value: this.#value(info, operator) }
  }

  #selector(): MetricQuery['selector'] {
    if (!this.#read.take('{')) return []
    const matchers: MetricQuery['selector'][number][] = []
    do {
      const field = this.#read.oneOf(SELECTOR_FIELDS, `a field is missing; there are ${SELECTOR_FIELDS.join(', ')}`)
      const sign = this.#read.take('=', '!=')
      if (!sign) throw this.#read.mistake(`= or != is missing after "${field}"`)
      matchers.push({ field, equal: sign.text === '=', text: this.#read.quoted(field) })
    } while (this.#read.take(','))
    this.#read.require('}', 'after the fields')
    return matchers
  }

  #window(info: MetricInfo): { readonly windowMs?: number } {
    const open = this.#read.take('[')
    if (!open) return info.windowed ? { windowMs: WINDOW_MS.usual } : {}
    if (!info.windowed) throw this.#read.mistake('this metric is evaluated as it is now and has no window', open)
    const windowMs = this.#read.durationMs
    if (windowMs === undefined) throw this.#read.mistake('a window is a duration such as 5m')
    if (windowMs < WINDOW_MS.least || windowMs > WINDOW_MS.most) throw this.#read.mistake('a window has 10s to 24h')
    this.#read.skip()
    this.#read.require(']', 'after the window')
    return { windowMs }
  }

  #value(info: MetricInfo, operator: Token): ConditionTest['value'] {
    const token = this.#read.next
    if (info.dimension === 'state') return this.#state(token, operator)
    if (this.#read.take('threshold')) return 'threshold'
    if (token.kind !== 'number') throw this.#read.mistake('a number or the word threshold is missing')
    const unit = token.unit === undefined ? undefined : UNITS[token.unit]
    if (token.unit !== undefined && !unit?.of.includes(info.dimension)) {
      throw this.#read.mistake(`"${token.unit}" is no unit of this metric`)
    }
    const value = Number(token.text) * (unit?.factor ?? 1)
    if (!inRange(info.dimension, value)) throw this.#read.mistake(outOfRange(info, token))
    this.#read.skip()
    return value === 0 ? 0 : value
  }

  #state(token: Token, operator: Token): ConditionTest['value'] {
    if (operator.text !== '==' && operator.text !== '!=')
      throw this.#read.mistake('a state has only == and !=', operator)
    const named = token.kind === 'name' || token.kind === 'string' ? token.text : undefined
    const state = named === undefined ? undefined : wordIn(STATES, named)
    if (!state) throw this.#read.mistake(`a state is missing; there are ${STATES.join(', ')}`)
    this.#read.skip()
    return { state }
  }
}

function outOfRange(info: MetricInfo, token: Token): string {
  const meant = info.dimension === 'ratio' && token.unit === undefined && Number(token.text) <= 100
  if (meant && Number(token.text) > 0) return `a ratio has 0 to 1; is ${token.text}% meant?`
  return info.dimension === 'ratio' ? 'a ratio has 0 to 1, or 0% to 100%' : 'this metric is never below 0'
}

function shown(token: Token): string {
  return token.kind === 'string' ? JSON.stringify(token.text) : `"${token.text}"`
}
