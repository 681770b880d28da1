import { type Kysely, sql } from 'kysely'
import { nextTurn } from '../../domain/next-turn.ts'
import type { Reader } from '../transact.ts'
import { BACKED_UP, type StoredTable } from './tables.ts'

/** A row by column names. Values: text, number, null, bytes. */
export type StoredRow = Readonly<Record<string, unknown>>

const ROWS_OF_A_PAGE = 200

/**
 * All rows of all tables of a backup, page by page, without blocking the thread for longer than a page. They are those
 * of one moment only when `db` is a transaction. Default: the tables of a backup.
 */
export async function* readRows(
  db: Reader,
  tables: readonly StoredTable[] = BACKED_UP,
): AsyncGenerator<{ table: string; rows: readonly StoredRow[] }> {
  for (const table of tables) {
    let last: StoredRow | undefined
    do {
      const rows: readonly StoredRow[] = await page(db as unknown as AnyTables, table, last)
      last = rows.length < (table.page ?? ROWS_OF_A_PAGE) ? undefined : rows.at(-1)
      if (rows.length > 0) yield { table: table.name, rows: rows.map(row => withoutNumber(row, table)) }
      await nextTurn()
    } while (last)
  }
}

/** The tables are those of a list, so their columns are not known to the compiler. */
export type AnyTables = Kysely<Record<string, Record<string, unknown>>>

/** Restricts rows to those whose column has one of these values. */
export interface RowFilter {
  readonly column: string
  readonly values: readonly string[]
}

/**
 * The next page of a table after the row `after`, in the order of the primary key. `filters`: each must hold; with one that has no
 * values there are no rows.
 */
export async function page(
  db: AnyTables,
  { name, key, page: limit = ROWS_OF_A_PAGE }: StoredTable,
  after?: StoredRow,
  filters: readonly RowFilter[] = [],
): Promise<readonly StoredRow[]> {
  if (filters.some(({ values }) => values.length === 0)) return []
  let query = db.selectFrom(name).selectAll().limit(limit)
  for (const { column, values } of filters) query = query.where(column, 'in', values)
  for (const column of key) query = query.orderBy(column)
  if (after) {
    const columns = sql.join(key.map(column => sql.ref(column)))
    const values = sql.join(key.map(column => after[column]))
    query = query.where(sql<boolean>`(${columns}) > (${values})`)
  }
  return query.execute()
}

function withoutNumber(row: StoredRow, { numbered }: StoredTable): StoredRow {
  if (numbered === undefined) return row
  return Object.fromEntries(Object.entries(row).filter(([column]) => column !== numbered))
}

/** Parameters of one statement; SQLite and PostgreSQL take 32,766 and 65,535. */
const MOST_PARAMETERS = 2_000

/** Inserts rows of one table that have the same columns. */
export async function insertRows(db: Reader, table: string, rows: readonly StoredRow[]): Promise<void> {
  const at = Math.max(1, Math.floor(MOST_PARAMETERS / Math.max(1, Object.keys(rows[0] ?? {}).length)))
  for (let from = 0; from < rows.length; from += at) {
    const values = rows.slice(from, from + at)
    await (db as unknown as AnyTables).insertInto(table).values(values).execute()
  }
}
