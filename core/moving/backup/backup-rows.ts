import { type Kysely, sql } from 'kysely'
import { nextTurn } from '../../domain/next-turn.ts'
import type { Reader } from '../../store/transact.ts'
import { BACKED_UP, type BackedUpTable } from './backup-tables.ts'

/** A row by column names. Values: text, number, null, bytes. */
export type BackupRow = Readonly<Record<string, unknown>>

const ROWS_OF_A_PAGE = 200

/**
 * All rows of all tables of a backup, page by page, without blocking the thread for longer than a page. They are those
 * of one moment only when `db` is a transaction. Default: the tables of a backup.
 */
export async function* readRows(
  db: Reader,
  tables: readonly BackedUpTable[] = BACKED_UP,
): AsyncGenerator<{ table: string; rows: readonly BackupRow[] }> {
  for (const table of tables) {
    let last: BackupRow | undefined
    do {
      const rows: readonly BackupRow[] = await page(db as unknown as AnyTables, table, last)
      last = rows.length < (table.page ?? ROWS_OF_A_PAGE) ? undefined : rows.at(-1)
      if (rows.length > 0) yield { table: table.name, rows: rows.map(row => withoutNumber(row, table)) }
      await nextTurn()
    } while (last)
  }
}

/** The tables are those of a list, so their columns are not known to the compiler. */
type AnyTables = Kysely<Record<string, Record<string, unknown>>>

function page(db: AnyTables, { name, key, page: limit = ROWS_OF_A_PAGE }: BackedUpTable, after?: BackupRow) {
  let query = db.selectFrom(name).selectAll().limit(limit)
  for (const column of key) query = query.orderBy(column)
  if (after) {
    const columns = sql.join(key.map(column => sql.ref(column)))
    const values = sql.join(key.map(column => after[column]))
    query = query.where(sql<boolean>`(${columns}) > (${values})`)
  }
  return query.execute()
}

function withoutNumber(row: BackupRow, { numbered }: BackedUpTable): BackupRow {
  if (numbered === undefined) return row
  return Object.fromEntries(Object.entries(row).filter(([column]) => column !== numbered))
}

/** Parameters of one statement; SQLite and PostgreSQL take 32,766 and 65,535. */
const MOST_PARAMETERS = 2_000

/** Inserts rows of one table that have the same columns. */
export async function insertRows(db: Reader, table: string, rows: readonly BackupRow[]): Promise<void> {
  const at = Math.max(1, Math.floor(MOST_PARAMETERS / Math.max(1, Object.keys(rows[0] ?? {}).length)))
  for (let from = 0; from < rows.length; from += at) {
    const values = rows.slice(from, from + at)
    await (db as unknown as AnyTables).insertInto(table).values(values).execute()
  }
}
