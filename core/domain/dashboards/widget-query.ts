import { QueryMistake, TokenReader } from '../query-tokens.ts'
import { SOURCE_NAMES, type Source, sourceName, sourceOf } from './sources.ts'

/** Longest text of a query, in characters. */
export const QUERY_CHARACTERS = 512
/** Limits of a query's time range, in milliseconds; steps are a multiple of `STEP_MS` and at least that long. */
const OVER_MS = { least: 10_000, most: 400 * 86_400_000 } as const
const STEP_MS = 10_000
/** Highest number of lines of a chart and rows of a table, and their number without `limit`. */
export const QUERY_LIMIT = { usual: 10, most: 100 } as const

export type SplitField = 'server' | 'tool'

/** A widget's parsed query. */
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
  /** Time range up to now, in milliseconds; absent: the dashboard's range. */
  readonly overMs?: number
  /** Step of a chart, in milliseconds; absent: chosen by the time range. */
  readonly stepMs?: number
  readonly limit: number
}

/** Reads `source [{server="…", tool="…"}] [by server|tool] [over 1h] [step 1m] [limit 10]`; else the first mistake. */
export function parseWidgetQuery(text: string): { readonly query: WidgetQuery } | { readonly error: string } {
  try {
    return { query: new Parser(text).whole() }
  } catch (error) {
    if (!(error instanceof QueryMistake)) throw error
    return { error: `Column ${error.column}: ${error.message}` }
  }
}

class Parser {
  readonly #read: TokenReader

  constructor(text: string) {
    this.#read = new TokenReader(text, 'a query', QUERY_CHARACTERS)
  }

  whole(): WidgetQuery {
    const { kind, text } = this.#read.next
    const known = `there are ${SOURCE_NAMES.join(', ')}`
    if (kind !== 'name') throw this.#read.mistake(`a source is missing; ${known}`)
    const name = sourceName(text)
    const source = name === undefined ? undefined : sourceOf(name)
    if (name === undefined || !source) throw this.#read.mistake(`there is no source "${text}"; ${known}`)
    this.#read.skip()
    const query = { name, source, ...this.#selector(source), ...this.#options(source) }
    if (this.#read.next.kind !== 'end')
      throw this.#read.mistake('by, over, step or limit is expected here, each at most once')
    return { limit: QUERY_LIMIT.usual, ...query }
  }

  #selector(source: Source): Pick<WidgetQuery, SplitField> {
    if (!this.#read.take('{')) return {}
    const fields: { -readonly [F in SplitField]?: string } = {}
    do {
      const field = this.#field(source)
      if (fields[field] !== undefined) throw this.#read.mistake(`"${field}" is named twice`)
      if (!this.#read.take('=')) throw this.#read.mistake(`= is missing after "${field}"`)
      if (this.#read.next.text === '') throw this.#read.mistake(`the value of "${field}" is empty`)
      fields[field] = this.#read.quoted(field)
    } while (this.#read.take(','))
    this.#read.require('}', 'after the fields')
    return fields
  }

  #field(source: Pick<Source, 'fields'>): SplitField {
    const known = source.fields.length === 0 ? 'this source has none' : `there are ${source.fields.join(', ')}`
    return this.#read.oneOf(source.fields, `a field is missing; ${known}`)
  }

  #options(source: Source): Partial<Pick<WidgetQuery, 'by' | 'overMs' | 'stepMs' | 'limit'>> {
    // The rows of a table cannot be split further.
    const fields = source.from === 'table' ? [] : source.fields
    const by = this.#read.take('by') ? { by: this.#field({ fields }) } : {}
    if (!source.overTime && ['over', 'step'].includes(this.#read.next.text)) {
      throw this.#read.mistake('this source is what is now, without a time')
    }
    const over = this.#read.take('over') ? { overMs: this.#duration(OVER_MS.least, '10s to 400d') } : {}
    const step = this.#read.take('step') ? { stepMs: this.#step() } : {}
    const limit = this.#read.take('limit') ? { limit: this.#limit() } : {}
    return { ...by, ...over, ...step, ...limit }
  }

  #duration(least: number, range: string): number {
    const ms = this.#read.durationMs
    if (ms === undefined || ms < least || ms > OVER_MS.most)
      throw this.#read.mistake(`a duration of ${range} is missing`)
    this.#read.skip()
    return ms
  }

  #step(): number {
    const token = this.#read.next
    const ms = this.#duration(STEP_MS, '10s or more')
    if (ms % STEP_MS !== 0) throw this.#read.mistake('a step is a multiple of 10s', token)
    return ms
  }

  #limit(): number {
    const { kind, text, unit } = this.#read.next
    const limit = kind === 'number' && unit === undefined ? Number(text) : Number.NaN
    if (!Number.isInteger(limit) || limit < 1 || limit > QUERY_LIMIT.most) {
      throw this.#read.mistake(`a whole number from 1 to ${QUERY_LIMIT.most} is missing`)
    }
    this.#read.skip()
    return limit
  }
}
