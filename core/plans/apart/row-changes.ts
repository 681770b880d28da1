import { type ExpressionBuilder, sql } from 'kysely'
import { pauses } from '../../store/pauses.ts'
import { type AnyTables, insertRows, type StoredRow } from '../../store/rows/rows.ts'
import { BACKED_UP, type StoredTable } from '../../store/rows/tables.ts'
import type { Reader } from '../../store/transact.ts'

/** The tables whose changes are tracked; one that refers to another comes after it. The hub writes the audit by itself. */
const TRACKED = BACKED_UP.filter(({ name, content }) => !content && name !== 'audit')

/** Rows of one statement. */
const ROWS_AT_ONCE = 100
/** Records of changes that are read at a time. */
const RECORDS_AT_ONCE = 500

/** One row that was inserted (`before` absent), updated or deleted (`after` absent). */
export interface RowChange {
  /** Values of the primary key, in the order of the table's `key`. */
  readonly key: readonly string[]
  readonly before?: StoredRow
  readonly after?: StoredRow
}

/** The changes of one table. */
export interface TableChanges {
  readonly table: StoredTable
  readonly changes: readonly RowChange[]
}

/** Records each change from now on, in a working copy. Changes that are rolled back leave no record. */
export async function trackChanges(copy: Reader): Promise<void> {
  await sql`create table row_change (number integer primary key, name text, key text, before text)`.execute(copy)
  for (const { name, key } of TRACKED) {
    const columns = await sql<{ name: string }>`select name from pragma_table_info(${name})`.execute(copy)
    const keyOf = (row: 'new' | 'old') => sql`json_array(${sql.join(key.map(column => sql.ref(`${row}.${column}`)))})`
    const pairs = columns.rows.flatMap(column => [sql.lit(column.name), sql.ref(`old.${column.name}`)])
    const before = sql`json_object(${sql.join(pairs)})`
    for (const [event, row, old] of [
      ['insert', keyOf('new'), sql`null`],
      ['update', keyOf('old'), before],
      ['delete', keyOf('old'), before],
    ] as const) {
      const record = sql`insert into row_change (name, key, before) values (${sql.lit(name)}, ${row}, ${old})`
      const on = sql`create trigger ${sql.ref(`${name}_${event}`)} after ${sql.raw(event)} on ${sql.table(name)}`
      await sql`${on} begin ${record}; end`.execute(copy)
    }
  }
}

/** Changes since `trackChanges`, by table. */
export async function changedRows(copy: Reader): Promise<readonly TableChanges[]> {
  const byTable = await firstRecords(copy)
  const found: TableChanges[] = []
  for (const table of TRACKED) {
    const first = [...(byTable.get(table.name)?.values() ?? [])]
    const now = await rowsByKey(
      copy,
      table,
      first.map(({ key }) => key),
    )
    const changes = first.flatMap(({ key, before }): RowChange[] => {
      const after = now.get(keyText(key))
      if (!before && !after) return []
      if (before && after && isSame(before, after)) return []
      return [{ key, ...(before ? { before } : {}), ...(after ? { after } : {}) }]
    })
    if (changes.length > 0) found.push({ table, changes })
  }
  return found
}

type FirstRecord = Required<Pick<RowChange, 'key'>> & { readonly before: StoredRow | undefined }

/** The first record of each row, which holds what was there before all changes: by table and key. */
async function firstRecords(copy: Reader): Promise<ReadonlyMap<string, ReadonlyMap<string, FirstRecord>>> {
  const found = new Map<string, Map<string, FirstRecord>>()
  const pause = pauses()
  for (let last = 0; ; ) {
    const { rows } = await sql<{ number: number; name: string; key: string; before: string | null }>`
      select number, name, key, before from row_change
      where number > ${last} order by number limit ${RECORDS_AT_ONCE}`.execute(copy)
    for (const { number, name, key, before } of rows) {
      last = number
      const ofTable = found.get(name) ?? new Map<string, FirstRecord>()
      found.set(name, ofTable)
      if (ofTable.has(key)) continue
      const row = before === null ? undefined : (JSON.parse(before) as StoredRow)
      ofTable.set(key, { key: JSON.parse(key) as string[], before: row })
    }
    if (rows.length === 0) return found
    await pause()
  }
}

/** True when every row to change is still unchanged. */
export async function areUnchanged(db: Reader, tables: readonly TableChanges[]): Promise<boolean> {
  const pause = pauses()
  for (const { table, changes } of tables) {
    const known = changes.filter(({ before }) => before !== undefined)
    const now = await rowsByKey(
      db,
      table,
      known.map(({ key }) => key),
    )
    for (const { key, before } of known) {
      const row = now.get(keyText(key))
      if (!row || !before || !isSame(before, row)) return false
    }
    await pause()
  }
  return true
}

/** Repeats the changes in another database. Throws the database's own error, such as for a name that was taken meanwhile. */
export async function repeatChanges(db: Reader, tables: readonly TableChanges[]): Promise<void> {
  const any = db as unknown as AnyTables
  const pause = pauses()
  // Deletions come first, since they free unique names; a row is deleted before the rows that it refers to.
  for (const { table, changes } of tables.toReversed()) {
    const gone = changes.filter(({ after }) => !after).map(({ key }) => key)
    for (const keys of chunks(gone)) {
      await any.deleteFrom(table.name).where(anyKey(table, keys)).execute()
      await pause()
    }
  }
  for (const { table, changes } of tables) {
    const made = changes.flatMap(({ before, after }) => (after && !before ? [after] : []))
    for (const rows of chunks(made)) {
      await insertRows(db, table.name, rows)
      await pause()
    }
    for (const { key, before, after } of changes) {
      if (!before || !after) continue
      await any
        .updateTable(table.name)
        .set(after)
        .where(anyKey(table, [key]))
        .execute()
      await pause()
    }
  }
}

async function rowsByKey(
  db: Reader,
  table: StoredTable,
  keys: readonly (readonly string[])[],
): Promise<ReadonlyMap<string, StoredRow>> {
  const found = new Map<string, StoredRow>()
  const pause = pauses()
  for (const some of chunks(keys)) {
    const rows: readonly StoredRow[] = await (db as unknown as AnyTables)
      .selectFrom(table.name)
      .selectAll()
      .where(anyKey(table, some))
      .execute()
    for (const row of rows) found.set(keyText(table.key.map(column => row[column])), row)
    await pause()
  }
  return found
}

function anyKey({ key }: StoredTable, keys: readonly (readonly string[])[]) {
  return (eb: ExpressionBuilder<Record<string, Record<string, unknown>>, string>) => {
    const [column = ''] = key
    if (key.length === 1)
      return eb(
        column,
        'in',
        keys.map(([value]) => value),
      )
    return eb.or(keys.map(values => eb.and(key.map((name, at) => eb(name, '=', values[at])))))
  }
}

function keyText(values: readonly unknown[]): string {
  return JSON.stringify(values)
}

/** The two databases give the same values for numbers, texts and null. */
function isSame(one: StoredRow, other: StoredRow): boolean {
  return Object.keys(one).every(column => one[column] === other[column])
}

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += ROWS_AT_ONCE) yield items.slice(from, from + ROWS_AT_ONCE)
}
