import { chmodSync, statSync } from 'node:fs'
import Database, { type Statement } from 'better-sqlite3'
import type { TermExpression } from '../domain/log/log-query.ts'
import type { HistoryOptions } from './protocol.ts'

/** One record on its way into a segment. */
export interface Row {
  /** Milliseconds since 1970. */
  readonly at: number
  /** 10 to 50. */
  readonly level: number
  /** Ids, joined by commas; empty: administrators alone. */
  readonly readers: string
  /** The whole record as JSON. */
  readonly record: string
  /** Joined by spaces. */
  readonly terms: string
}

/** A stored record. */
export interface Found {
  readonly id: number
  readonly readers: string
  readonly record: string
}

/** What a new segment is made with. */
export type SegmentOptions = Pick<HistoryOptions, 'table' | 'indexes'>

/**
 * Columns that stand for members of the record, for queries by hand. They take no room: SQLite reads them from the JSON, and
 * an index of one holds its values.
 */
const MEMBERS = {
  message: 'text',
  server: 'text',
  tool: 'text',
  duration: 'integer',
  status: 'text',
  requestId: 'text',
  userId: 'text',
} as const
/** Names of indexed fields that are columns under another name. */
const COLUMNS: Readonly<Record<string, string>> = { timestamp: 'at' }

/** One SQLite file of log records with its index of terms. `id` rises over all segments. */
export class Segment {
  readonly path: string
  readonly #db: Database
  readonly #table: string
  readonly #insert: Statement
  readonly #insertTerms: Statement
  #records = 0
  #firstId = 0
  #lastId = 0
  #least = Number.POSITIVE_INFINITY
  #greatest = Number.NEGATIVE_INFINITY

  /** Opens the file, whatever its table is called, or makes it, mode 0600. Throws the database's error for a damaged one. */
  constructor(path: string, { table, indexes }: SegmentOptions) {
    this.path = path
    this.#db = new Database(path, { timeout: 250 })
    chmodSync(path, 0o600)
    this.#db.pragma('journal_mode = WAL')
    this.#db.pragma('synchronous = NORMAL')
    this.#db.pragma('cache_size = -8000')
    this.#table = tableOf(this.#db) ?? makeTable(this.#db, table, indexes)
    this.#insert = this.#db.prepare(
      `insert into "${this.#table}"(id, at, level, readers, record) values (?, ?, ?, ?, ?)`,
    )
    this.#insertTerms = this.#db.prepare(`insert into "${this.#table}_terms"(rowid, terms) values (?, ?)`)
    const [ends] = this.#db
      .prepare(`select count(*) n, min(id) first, max(id) last, min(at) least, max(at) greatest from "${this.#table}"`)
      .all() as { n: number; first: number; last: number; least: number; greatest: number }[]
    if (!ends || ends.n === 0) return
    this.#records = ends.n
    this.#firstId = ends.first
    this.#lastId = ends.last
    this.#least = ends.least
    this.#greatest = ends.greatest
  }

  get records(): number {
    return this.#records
  }

  /** 0 while it is empty. */
  get firstId(): number {
    return this.#firstId
  }

  get lastId(): number {
    return this.#lastId
  }

  /** Least and greatest time of its records, in ms since 1970. */
  get times(): { readonly least: number; readonly greatest: number } {
    return { least: this.#least, greatest: this.#greatest }
  }

  /** With its write-ahead log, in bytes. */
  get bytes(): number {
    const sizes = [this.path, `${this.path}-wal`].map(path => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  /** All rows in one transaction, with ids from `firstId` on. Throws the database's error; nothing is stored then. */
  append(rows: readonly Row[], firstId: number): void {
    this.#db.exec('begin immediate')
    try {
      for (const [index, { at, level, readers, record, terms }] of rows.entries()) {
        this.#insert.run([firstId + index, at, level, readers, record])
        this.#insertTerms.run([firstId + index, terms])
      }
      this.#db.exec('commit')
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('rollback')
      throw error
    }
    if (this.#records === 0) this.#firstId = firstId
    this.#records += rows.length
    this.#lastId = firstId + rows.length - 1
    for (const { at } of rows) {
      this.#least = Math.min(this.#least, at)
      this.#greatest = Math.max(this.#greatest, at)
    }
  }

  /** Records that have the terms, in the order of their ids, between two ids (exclusive). */
  *find(terms: TermExpression | undefined, order: 'asc' | 'desc', above: number, below: number): Generator<Found> {
    const table = this.#table
    const direct = `select id, readers, record from "${table}" where id > ? and id < ? order by id ${order}`
    // The index of terms delivers in the order of ids, so that the newest come without looking at all.
    const byTerms = `select r.id, r.readers, r.record from "${table}_terms" f cross join "${table}" r on r.id = f.rowid
      where f."${table}_terms" match ? and f.rowid > ? and f.rowid < ? order by f.rowid ${order}`
    const statement = this.#db.prepare(terms === undefined ? direct : byTerms)
    const bounds = [above, below]
    yield* statement.iterate(terms === undefined ? bounds : [matchText(terms), ...bounds]) as Iterable<Found>
  }

  close(): void {
    this.#db.close()
  }
}

/** The table of records, which has a table of terms beside it; undefined in a new file. */
function tableOf(db: Database): string | undefined {
  const found = db.prepare(`select name from sqlite_schema where type = 'table'
    and name || '_terms' in (select name from sqlite_schema)`)
  return (found.all() as { readonly name: string }[])[0]?.name
}

function makeTable(db: Database, table: string, indexes: readonly string[]): string {
  const members = Object.entries(MEMBERS).map(
    ([name, type]) => `${name} ${type} generated always as (json_extract(record, '$.${name}')) virtual`,
  )
  db.exec(`create table "${table}"(id integer primary key, at integer not null, level integer not null,
      readers text not null, record text not null, ${members.join(', ')});
    create virtual table "${table}_terms" using fts5(terms, content='', detail=none, tokenize='ascii')`)
  // Times are always looked for.
  for (const field of new Set(['timestamp', ...indexes])) {
    db.exec(`create index "${table}_${field.toLowerCase()}" on "${table}"(${COLUMNS[field] ?? field})`)
  }
  return table
}

/** The expression in the language of FTS5. */
function matchText(terms: TermExpression): string {
  if (typeof terms === 'string') return `"${terms}"`
  const [word, parts] = 'all' in terms ? ['AND', terms.all] : ['OR', terms.any]
  // An empty choice is met by nothing: no record has this term.
  if (parts.length === 0) return '"none"'
  return `(${parts.map(matchText).join(` ${word} `)})`
}
