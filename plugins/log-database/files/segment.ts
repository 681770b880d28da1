import { chmodSync, statSync } from 'node:fs'
import Database, { type Statement } from 'better-sqlite3'
import type { HistoryOptions } from '../protocol.ts'
import type { RecordIndex, TermExpression } from '../record-terms.ts'
import { SegmentIds } from './segment-ids.ts'

/** One record on its way into a segment. */
export interface Row extends RecordIndex {
  /** Milliseconds since 1970. */
  readonly at: number
  /** 10 to 50. */
  readonly level: number
  /** Ids, joined by commas; empty: administrators alone. */
  readonly readers: string
  /** The whole record as JSON. */
  readonly record: string
}

/** A stored record. */
export interface Found {
  readonly id: number
  readonly readers: string
  readonly record: string
}

/** Options of a new segment. */
export type SegmentOptions = Pick<HistoryOptions, 'table' | 'indexes'>

/**
 * Members of the record that are columns for queries by hand. They are those of a view, and read from the JSON: as columns of
 * the table, even virtual ones, they would double the time that a row takes. An index of one holds its values.
 */
const MEMBERS = [
  ...(['message', 'server', 'tool', 'duration', 'status', 'requestId', 'userId'] as const),
  ...(['outcome', 'error', 'clientName', 'clientVersion', 'keyLabel'] as const),
]
/**
 * Columns of the view by which calls are added up: a record is 1 call, or `count` calls. Other records than those of calls may have
 * anything under these names.
 */
const NUMBERS = [
  `case when ${memberOf('message')} = 'tools/call' then coalesce(${memberOf('count')}, 1) else 1 end as count`,
  `case when ${memberOf('message')} = 'tools/call'
    then coalesce(${memberOf('errors')}, ${memberOf('outcome')} <> 'ok') end as errors`,
  `case when ${memberOf('message')} = 'tools/call'
    then coalesce(${memberOf('durationTotal')}, ${memberOf('duration')}) end as durationTotal`,
]
/**
 * Parts of the index of terms that are merged into one: the most there is. Each batch makes one, and with SQLite's 4 the same
 * terms were merged twice as often: 2.1 ms a batch of 150 records instead of 1.5, and 30 ms instead of 11 for one in a hundred.
 */
const MERGED_AT_ONCE = 16
/** Indexed columns of fields that are not members of the record. */
const COLUMNS: Readonly<Record<string, string>> = { timestamp: 'at', level: 'level' }

/** One SQLite file of log records with its index of terms. `id` rises over all segments. */
export class Segment {
  readonly path: string
  readonly #db: Database
  /** The table of the rows. */
  readonly #table: string
  readonly #termsTable: string
  readonly #insert: Statement
  readonly #insertTerms: Statement
  readonly #ids: SegmentIds
  #records = 0
  #firstId = 0
  #lastId = 0
  #least = Number.POSITIVE_INFINITY
  #greatest = Number.NEGATIVE_INFINITY

  /** Opens the file, whatever the name of its table, or creates it, mode 0600. Throws the database's error for a damaged one. */
  constructor(path: string, { table, indexes }: SegmentOptions) {
    this.path = path
    this.#db = new Database(path, { timeout: 250 })
    try {
      chmodSync(path, 0o600)
      this.#db.pragma('journal_mode = WAL')
      this.#db.pragma('synchronous = NORMAL')
      this.#db.pragma('cache_size = -8000')
      const { name, rows } = tableOf(this.#db) ?? makeTable(this.#db, table, indexes)
      this.#table = rows
      this.#termsTable = `${name}_terms`
      this.#ids = new SegmentIds(this.#db, name)
      this.#insert = this.#db.prepare(
        `insert into "${this.#table}"(id, at, level, readers, record) values (?, ?, ?, ?, ?)`,
      )
      this.#insertTerms = this.#db.prepare(`insert into "${this.#termsTable}"(rowid, terms) values (?, ?)`)
      this.#readEnds()
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  #readEnds(): void {
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
      for (const [index, { at, level, readers, record, terms, ids }] of rows.entries()) {
        this.#insert.run([firstId + index, at, level, readers, record])
        const all = [terms, ...ids.map(id => this.#ids.termsOf(id))].join(' ')
        this.#insertTerms.run([firstId + index, all])
      }
      this.#db.exec('commit')
    } catch (error) {
      this.#ids.rolledBack()
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
    // The index of terms returns rows in the order of ids, so that the newest are found without reading all.
    const byTerms = `select r.id, r.readers, r.record from "${this.#termsTable}" f cross join "${table}" r on r.id = f.rowid
      where f."${this.#termsTable}" match ? and f.rowid > ? and f.rowid < ? order by f.rowid ${order}`
    const match = terms === undefined ? undefined : matchText(terms, this.#ids)
    const statement = this.#db.prepare(match === undefined ? direct : byTerms)
    const bounds = [above, below]
    yield* statement.iterate(match === undefined ? bounds : [match, ...bounds]) as Iterable<Found>
  }

  close(): void {
    this.#db.close()
  }
}

/** Name of a segment, and of the table of its rows. */
interface Tables {
  readonly name: string
  readonly rows: string
}

/** Returns the names in a file; undefined for a new file. Files of earlier hubs have the rows in the table of this name. */
function tableOf(db: Database): Tables | undefined {
  const found = db.prepare(`select name, case when type = 'view' then name || '_records' else name end as rows
    from sqlite_schema where type in ('table', 'view') and name || '_terms' in (select name from sqlite_schema)`)
  return (found.all() as Tables[])[0]
}

function makeTable(db: Database, name: string, indexes: readonly string[]): Tables {
  const rows = `${name}_records`
  const columns = [...MEMBERS.map(member => `${memberOf(member)} as ${member}`), ...NUMBERS]
  const made = [
    `create table "${rows}"(id integer primary key, at integer not null, level integer not null,
      readers text not null, record text not null)`,
    `create view "${name}" as select id, at, level, readers, record, ${columns.join(', ')} from "${rows}"`,
    `create virtual table "${name}_terms" using fts5(terms, content='', detail=none, tokenize='ascii')`,
    `insert into "${name}_terms"("${name}_terms", rank) values ('automerge', ${MERGED_AT_ONCE})`,
    // Times are indexed always, since every search uses them.
    ...[...new Set(['timestamp', ...indexes])].map(
      field => `create index "${name}_${field.toLowerCase()}" on "${rows}"(${COLUMNS[field] ?? memberOf(field)})`,
    ),
  ]
  // In one transaction: a file in which only some of them are there could not be opened again.
  db.exec(['begin', ...made, 'commit'].join(';\n'))
  return { name, rows }
}

function memberOf(name: string): string {
  return `json_extract(record, '$.${name}')`
}

/** The expression in the language of FTS5; undefined if every record has to be read. */
function matchText(terms: TermExpression, ids: SegmentIds): string | undefined {
  if (typeof terms === 'string') return `"${terms}"`
  if ('wanted' in terms) {
    const found = ids.containing(terms.wanted)
    return found === undefined ? undefined : matchText({ any: [terms.terms, ...found] }, ids)
  }
  const isAll = 'all' in terms
  const parts = (isAll ? terms.all : terms.any).map(part => matchText(part, ids))
  // An empty choice is met by nothing: no record has this term.
  if (parts.length === 0) return '"none"'
  const known = parts.filter(part => part !== undefined)
  if (known.length === 0 || (!isAll && known.length < parts.length)) return undefined
  return `(${known.join(isAll ? ' AND ' : ' OR ')})`
}
