import type { RecordPage } from 'patchbay/features'
import { callsOf } from 'patchbay/log-kit'
import pg from 'pg'
import type { Found, Row } from './files/segment.ts'
import { TextTerms } from './log-terms.ts'
import type { HistoryOptions, HistoryQuery } from './protocol.ts'
import type { RecordStore } from './record-store.ts'
import type { TermExpression } from './record-terms.ts'
import { PageMaker } from './search.ts'

const DAY_MS = 86_400_000
const CONNECT_MS = 5_000
const STATEMENT_MS = 10_000
/** Longest wait for an unresponsive database when closing, in milliseconds. */
const CLOSE_MS = 200
/** Longest suffix after the table's name in other names. */
const LONGEST_END = 10
/** Rows that are read at once: few at first, since most pages are short. */
const FIRST_ROWS = 200
const MOST_ROWS = 2_000
/** Members of a record that are columns too, for queries by hand. */
const MEMBERS = [
  ...(['server', 'tool', 'status', 'requestId', 'userId'] as const),
  ...(['outcome', 'error', 'clientName', 'clientVersion', 'keyLabel'] as const),
]
/** Columns by which calls are added up: a record is 1 call, or `count` calls. */
const NUMBERS = ['duration', 'count', 'errors', 'durationTotal'] as const
/** Names of indexed fields that are columns under another name. */
const COLUMNS: Readonly<Record<string, string>> = { timestamp: 'at' }

/** Log records in PostgreSQL: one table with a partition for each UTC day, and an index of terms. */
export class PostgresRecords implements RecordStore {
  readonly #options: HistoryOptions & { readonly databaseUrl: string }
  readonly #days = new Set<number>()
  readonly #texts = new TextTerms()
  #client: Promise<pg.Client> | undefined

  constructor(options: HistoryOptions & { readonly databaseUrl: string }) {
    this.#options = options
  }

  append(rows: readonly Row[]): Promise<void> {
    return this.#with(client => this.#append(client, rows))
  }

  search(query: HistoryQuery): Promise<RecordPage> {
    return this.#with(client => this.#search(client, query))
  }

  retain(nowMs: number): Promise<void> {
    return this.#with(client => this.#retain(client, nowMs))
  }

  async close(): Promise<void> {
    const late = new Promise<void>(resolve => setTimeout(resolve, CLOSE_MS))
    const ended = this.#client?.then(client => client.end()).catch(() => undefined)
    await Promise.race([ended, late])
  }

  async #append(client: pg.Client, rows: readonly Row[]): Promise<void> {
    for (const day of new Set(rows.map(({ at }) => dayOf(at)))) await this.#addDay(client, day)
    const records = rows.map(({ record }) => JSON.parse(record) as Readonly<Record<string, unknown>>)
    const columns = [
      ...(['at', 'level', 'readers', 'record'] as const).map(name => rows.map(row => row[name])),
      rows.map(({ terms, ids }) => [terms, ...ids.map(id => this.#texts.of(id))].filter(each => each !== '').join(' ')),
      ...NUMBERS.map(name => records.map(record => columnNumber(name, record))),
      ...MEMBERS.map(name => records.map(record => columnText(record[name]))),
    ]
    const names = [...NUMBERS, ...MEMBERS].map(name => `"${name}"`).join(', ')
    const types = [...NUMBERS.map(() => 'bigint'), ...MEMBERS.map(() => 'text')]
    const members = types.map((type, index) => `$${index + 6}::${type}[]`).join(', ')
    // The order of the ids is that of the rows.
    await client.query(
      `insert into "${this.#options.table}"(at, level, readers, record, terms, ${names})
       select at, level, readers, record, array_to_tsvector(string_to_array(terms, ' ')), ${names}
       from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], ${members})
         with ordinality as r(at, level, readers, record, terms, ${names}, place) order by place`,
      columns,
    )
  }

  async #search(client: pg.Client, query: HistoryQuery): Promise<RecordPage> {
    const maker = new PageMaker(query)
    const isDown = query.order === 'desc'
    let after = query.after ?? (isDown ? Number.MAX_SAFE_INTEGER : 0)
    for (let rows = FIRST_ROWS; ; rows = Math.min(rows * 3, MOST_ROWS)) {
      const found = await this.#find(client, maker.terms, isDown, after, rows)
      for (const one of found) if (!maker.take(one)) return maker.page()
      const last = found.at(-1)
      if (!last || found.length < rows) return maker.page(true)
      after = last.id
      if (maker.isOver) return maker.page(false)
    }
  }

  async #retain(client: pg.Client, nowMs: number): Promise<void> {
    const { table, retentionMs, maxBytes } = this.#options
    const { rows } = await client.query<{ name: string; bytes: string }>(
      `select inhrelid::regclass::text name, pg_total_relation_size(inhrelid) bytes
       from pg_inherits where inhparent = $1::regclass order by 1`,
      [`"${table}"`],
    )
    let bytes = rows.reduce((sum, row) => sum + Number(row.bytes), 0)
    // Names end with their day, so that their order is that of the days.
    for (const row of rows.slice(0, -1)) {
      const day = dayIn(row.name)
      const isOld = day !== undefined && (day + 1) * DAY_MS < nowMs - retentionMs
      if (!isOld && bytes <= maxBytes) continue
      await client.query(`drop table ${row.name}`)
      if (day !== undefined) this.#days.delete(day)
      bytes -= Number(row.bytes)
    }
  }

  async #find(client: pg.Client, terms: TermExpression | undefined, isDown: boolean, after: number, rows: number) {
    const bounds = [after, rows, ...(terms === undefined ? [] : [queryText(terms)])]
    const result = await client.query<Record<keyof Found, string>>(
      `select id, readers, record from "${this.#options.table}"
       where id ${isDown ? '<' : '>'} $1 ${terms === undefined ? '' : 'and terms @@ $3::tsquery'}
       order by id ${isDown ? 'desc' : 'asc'} limit $2`,
      bounds,
    )
    return result.rows.map(({ id, readers, record }): Found => ({ id: Number(id), readers, record }))
  }

  /** An error of the database itself is rethrown; without its answer, the connection is also closed. */
  async #with<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = await this.#connected()
    try {
      return await work(client)
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) {
        this.#lost(client)
        client.end().catch(() => undefined)
      }
      throw error
    }
  }

  /** One connection, opened again after it was lost. */
  #connected(): Promise<pg.Client> {
    this.#client ??= this.#open().catch(error => {
      this.#client = undefined
      throw error
    })
    return this.#client
  }

  async #open(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#options.databaseUrl,
      connectionTimeoutMillis: CONNECT_MS,
      statement_timeout: STATEMENT_MS,
      query_timeout: STATEMENT_MS,
      keepAlive: true,
    })
    client.on('error', () => this.#lost(client))
    client.on('end', () => this.#lost(client))
    await client.connect()
    try {
      await this.#makeTable(client)
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
    return client
  }

  #lost(client: pg.Client): void {
    void this.#client?.then(
      current => {
        if (current === client) this.#client = undefined
      },
      () => undefined,
    )
    this.#days.clear()
  }

  async #makeTable(client: pg.Client): Promise<void> {
    const { table, indexes } = this.#options
    await client.query(`create table if not exists "${table}"(
      id bigint generated always as identity, at bigint not null, level int not null,
      readers text not null, record text not null, terms tsvector not null) partition by range (at)`)
    // A table of an earlier hub has fewer columns.
    const columns = [...NUMBERS.map(name => `"${name}" bigint`), ...MEMBERS.map(name => `"${name}" text`)]
    await client.query(`alter table "${table}" ${columns.map(one => `add column if not exists ${one}`).join(', ')}`)
    await client.query(`create index if not exists "${this.#named('id')}" on "${table}"(id)`)
    await client.query(`create index if not exists "${this.#named('terms')}" on "${table}" using gin(terms)`)
    for (const field of indexes) {
      const name = this.#named(field.toLowerCase())
      await client.query(`create index if not exists "${name}" on "${table}"("${COLUMNS[field] ?? field}")`)
    }
  }

  /** Name of an object that belongs to the table; PostgreSQL truncates names of more than 63 characters. */
  #named(end: string): string {
    return `${this.#options.table.slice(0, 63 - 1 - LONGEST_END)}_${end}`
  }

  async #addDay(client: pg.Client, day: number): Promise<void> {
    if (this.#days.has(day)) return
    const { table } = this.#options
    const name = this.#named(new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', ''))
    const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS]
    await client.query(
      `create table if not exists "${name}" partition of "${table}" for values from (${from}) to (${to})`,
    )
    this.#days.add(day)
  }
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

/** PostgreSQL's texts hold no NUL. */
function columnText(value: unknown): string | null {
  return typeof value === 'string' ? value.replaceAll('\0', '') : null
}

/** The values of NUMBERS. Other records than those of calls may have anything under their names. */
function columnNumber(name: (typeof NUMBERS)[number], record: Readonly<Record<string, unknown>>): number | null {
  const integer = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)
  const isCall = record.message === 'tools/call'
  switch (name) {
    case 'duration':
      return integer(record.duration)
    case 'count':
      return callsOf(record)
    case 'errors':
      return isCall ? (integer(record.errors) ?? (record.outcome === 'ok' ? 0 : 1)) : null
    case 'durationTotal':
      return isCall ? (integer(record.durationTotal) ?? integer(record.duration)) : null
  }
}

/** The day in the name of a partition. */
function dayIn(name: string): number | undefined {
  const [, year, month, date] = /_(\d{4})(\d{2})(\d{2})"?$/.exec(name) ?? []
  return year === undefined ? undefined : dayOf(Date.parse(`${year}-${month}-${date}T00:00:00Z`))
}

/** The expression in the language of `tsquery`. */
function queryText(terms: TermExpression): string {
  if (typeof terms === 'string') return `'${terms}'`
  if ('wanted' in terms) return queryText(terms.terms)
  const [word, parts] = 'all' in terms ? ['&', terms.all] : ['|', terms.any]
  // An empty choice is met by nothing: no record has this term.
  if (parts.length === 0) return "'none'"
  return `(${parts.map(queryText).join(` ${word} `)})`
}
