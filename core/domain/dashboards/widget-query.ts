import { ConditionMistake, type Token, tokensOf } from '../alerts/condition-tokens.ts'
import { parseDuration } from '../duration.ts'
import { SOURCE_NAMES, type Source, sourceOf } from './sources.ts'

/** Longest text of a query, in characters. */
export const QUERY_CHARACTERS = 512
/** How far back a query goes, in milliseconds, and its steps: the least and a divisor of them. */
const OVER_MS = { least: 10_000, most: 400 * 86_400_000 } as const
const STEP_MS = 10_000
/** Most lines of a chart and rows of a table, and how many there are without `limit`. */
export const QUERY_LIMIT = { usual: 10, most: 100 } as const

export type SplitField = 'server' | 'tool'

/** What a widget asks for. */
export interface WidgetQuery {
  /** The name of `source`. */
  readonly name: string
  readonly source: Source
  /** Only of this server: `name` or `owner~name`. */
  readonly server?: string
  /** Only of this tool. */
  readonly tool?: string
  /** One value for each of these. */
  readonly by?: SplitField
  /** How far back, in milliseconds; absent: as far as the dashboard. */
  readonly overMs?: number
  /** Of a chart, in milliseconds; absent: a fitting one. */
  readonly stepMs?: number
  readonly limit: number
}

/** Reads `source [{server="…", tool="…"}] [by server|tool] [over 1h] [step 1m] [limit 10]`; else the first mistake. */
export function parseWidgetQuery(text: string): { readonly query: WidgetQuery } | { readonly error: string } {
  try {
    if (text.length > QUERY_CHARACTERS) {
      throw new ConditionMistake(QUERY_CHARACTERS + 1, `a query has at most ${QUERY_CHARACTERS} characters`)
    }
    return { query: new Parser(tokensOf(text)).whole() }
  } catch (error) {
    if (!(error instanceof ConditionMistake)) throw error
    return { error: `Column ${error.column}: ${error.message}` }
  }
}

class Parser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  whole(): WidgetQuery {
    const { text: name } = this.#name(`a source is missing; there are ${SOURCE_NAMES.join(', ')}`)
    const source = sourceOf(name)
    if (!source) {
      this.#at -= 1
      throw this.#mistake(`there is no source "${name}"; there are ${SOURCE_NAMES.join(', ')}`)
    }
    const query = { name, source, ...this.#selector(source), ...this.#options(source) }
    if (this.#next.kind !== 'end') throw this.#mistake('by, over, step or limit is expected here, each at most once')
    return { limit: QUERY_LIMIT.usual, ...query }
  }

  get #next(): Token {
    return this.#tokens[this.#at] as Token
  }

  #mistake(message: string): ConditionMistake {
    return new ConditionMistake(this.#next.column, message)
  }

  #name(missing: string): Token {
    const token = this.#next
    if (token.kind !== 'name') throw this.#mistake(missing)
    this.#at += 1
    return token
  }

  #sign(text: string): boolean {
    const found = this.#next.kind === 'sign' && this.#next.text === text
    if (found) this.#at += 1
    return found
  }

  #selector(source: Source): Pick<WidgetQuery, SplitField> {
    if (!this.#sign('{')) return {}
    const fields: { -readonly [F in SplitField]?: string } = {}
    do {
      const field = this.#field(source)
      if (fields[field] !== undefined) throw this.#mistake(`"${field}" is named twice`)
      if (!this.#sign('=')) throw this.#mistake(`= is missing after "${field}"`)
      const { kind, text } = this.#next
      if (kind !== 'string' || text === '') throw this.#mistake(`the value of "${field}" stands in quotes`)
      this.#at += 1
      fields[field] = text
    } while (this.#sign(','))
    if (!this.#sign('}')) throw this.#mistake('"}" is missing after the fields')
    return fields
  }

  #field(source: Source): SplitField {
    const token = this.#next
    const field = source.fields.find(known => token.kind === 'name' && known === token.text)
    const known = source.fields.length === 0 ? 'this source has none' : `there are ${source.fields.join(', ')}`
    if (!field) throw this.#mistake(`a field is missing; ${known}`)
    this.#at += 1
    return field
  }

  #options(source: Source): Partial<Pick<WidgetQuery, 'by' | 'overMs' | 'stepMs' | 'limit'>> {
    const by = this.#word('by') ? { by: this.#field(source) } : {}
    if (!source.overTime && ['over', 'step'].includes(this.#next.text)) {
      throw this.#mistake('this source is what is now, without a time')
    }
    const over = this.#word('over') ? { overMs: this.#duration(OVER_MS.least, OVER_MS.most, '10s to 400d') } : {}
    const step = this.#word('step') ? { stepMs: this.#step() } : {}
    const limit = this.#word('limit') ? { limit: this.#limit() } : {}
    return { ...by, ...over, ...step, ...limit }
  }

  #word(text: string): boolean {
    const found = this.#next.kind === 'name' && this.#next.text === text
    if (found) this.#at += 1
    return found
  }

  #duration(least: number, most: number, range: string): number {
    const { kind, text, unit } = this.#next
    const ms = kind === 'number' && unit !== undefined ? parseDuration(text + unit) : undefined
    if (ms === undefined || ms < least || ms > most) throw this.#mistake(`a duration of ${range} is missing`)
    this.#at += 1
    return ms
  }

  #step(): number {
    const ms = this.#duration(STEP_MS, OVER_MS.most, '10s or more')
    if (ms % STEP_MS === 0) return ms
    this.#at -= 1
    throw this.#mistake('a step is a multiple of 10s')
  }

  #limit(): number {
    const { kind, text, unit } = this.#next
    const limit = kind === 'number' && unit === undefined ? Number(text) : Number.NaN
    if (!Number.isInteger(limit) || limit < 1 || limit > QUERY_LIMIT.most) {
      throw this.#mistake(`a whole number from 1 to ${QUERY_LIMIT.most} is missing`)
    }
    this.#at += 1
    return limit
  }
}
