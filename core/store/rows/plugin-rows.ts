import { Buffer } from 'node:buffer'
import { sql } from 'kysely'
import { nextTurn } from '../../domain/next-turn.ts'
import { isPluginTable, tablePrefix } from '../plugin-tables.ts'
import type { WaitingRowTable } from '../tables.ts'
import type { Reader, Writer } from '../transact.ts'
import { insertRows, type StoredRow } from './rows.ts'

type Engine = 'sqlite' | 'postgres'
type WaitingRow = WaitingRowTable

const PAGE = 200
/** Rows of a table with bytes, each of which may have a MiB. */
const PAGE_OF_BYTES = 4
/** Name of the column with a row's place, beside the row's own. */
const PLACE = 'patchbay__place'

/**
 * All rows of plugins' tables in the form in which they wait for their plugin: JSON that is the same for both databases. Tables to
 * which others refer come first.
 */
export async function* readPluginRows(db: Reader, engine: Engine): AsyncGenerator<readonly WaitingRow[]> {
  for (const table of await pluginTables(db, engine)) {
    const limit = pageFor(await typesOf(db, table))
    let position = 0
    let after: unknown
    for (;;) {
      const rows = await pageOf(db, engine, table, after, limit)
      if (rows.length === 0) break
      after = rows.at(-1)?.[PLACE]
      yield rows.map(({ [PLACE]: _, ...row }) => {
        position += 1
        return { table_name: table, position, content: JSON.stringify(written(row)) }
      })
      await nextTurn()
    }
  }
}

/** Removes all tables of plugins. */
export async function dropPluginTables(trx: Writer, engine: Engine): Promise<void> {
  for (const table of (await pluginTables(trx, engine)).toReversed()) await trx.schema.dropTable(table).execute()
}

/** Rows that wait for the tables of one plugin. */
export class WaitingRows {
  readonly #trx: Writer
  readonly #prefix: string
  readonly #engine: Engine

  constructor(trx: Writer, plugin: string, engine: Engine) {
    this.#trx = trx
    this.#prefix = tablePrefix(plugin)
    this.#engine = engine
  }

  /** Whole names of the tables that have rows. */
  async tables(): Promise<readonly string[]> {
    const rows = await this.#trx.selectFrom('waiting_row').select('table_name').distinct().execute()
    return rows.map(({ table_name: table }) => table).filter(table => table.startsWith(this.#prefix))
  }

  /** The rows of one table, by its own name. */
  async of(table: string): Promise<readonly StoredRow[]> {
    return (await this.#read(`${this.#prefix}${table}`, 0, Number.MAX_SAFE_INTEGER)).map(({ content }) => read(content))
  }

  /**
   * Moves the rows of all tables but `except` into the plugin's tables, which are as they were when the rows were read. Returns the
   * number of rows that refer to a row which is gone; they are dropped.
   */
  async place(except: string): Promise<number> {
    let dropped = 0
    for (const table of await pluginTables(this.#trx, this.#engine)) {
      if (!table.startsWith(this.#prefix) || table === `${this.#prefix}${except}`) continue
      const types = await typesOf(this.#trx, table)
      let after = 0
      for (;;) {
        const found = await this.#read(table, after, pageFor(types))
        if (found.length === 0) break
        after = found.at(-1)?.position ?? after
        dropped += await this.#insert(
          table,
          found.map(({ content }) => valuesFor(read(content), types, this.#engine)),
        )
      }
      if (this.#engine === 'postgres') await this.#continueNumbers(table, Object.keys(types))
    }
    for (const table of await this.tables()) {
      await this.#trx.deleteFrom('waiting_row').where('table_name', '=', table).execute()
    }
    return dropped
  }

  #read(table: string, after: number, limit: number): Promise<readonly WaitingRow[]> {
    const rows = this.#trx.selectFrom('waiting_row').selectAll().where('table_name', '=', table)
    return rows.where('position', '>', after).orderBy('position').limit(limit).execute()
  }

  async #insert(table: string, rows: readonly StoredRow[]): Promise<number> {
    let dropped = 0
    if (await this.#attempt(() => insertRows(this.#trx, table, rows))) return 0
    for (const row of rows) if (!(await this.#attempt(() => insertRows(this.#trx, table, [row])))) dropped += 1
    return dropped
  }

  /** False, with nothing written, for rows that refer to one that is gone. */
  async #attempt(work: () => Promise<void>): Promise<boolean> {
    await sql`savepoint waiting_rows`.execute(this.#trx)
    try {
      await work()
      await sql`release savepoint waiting_rows`.execute(this.#trx)
      return true
    } catch (error) {
      await sql`rollback to savepoint waiting_rows`.execute(this.#trx)
      await sql`release savepoint waiting_rows`.execute(this.#trx)
      if (/foreign key/i.test(String(error))) return false
      throw error
    }
  }

  /** PostgreSQL numbers new rows from where its sequence stands, which rows with numbers do not move. */
  async #continueNumbers(table: string, columns: readonly string[]): Promise<void> {
    for (const column of columns) {
      const { rows } = await sql<{
        name: string | null
      }>`select pg_get_serial_sequence(${table}, ${column}) as name`.execute(this.#trx)
      const name = rows[0]?.name
      if (!name) continue
      await sql`select setval(${name}::regclass, greatest((select coalesce(max(${sql.ref(column)}), 0) from ${sql.table(table)}), 1))`.execute(
        this.#trx,
      )
    }
  }
}

/** Whole names of the tables of all plugins, each after those that it refers to. */
async function pluginTables(db: Reader, engine: Engine): Promise<readonly string[]> {
  const tables = (await db.introspection.getTables()).map(({ name }) => name).filter(isPluginTable)
  const waiting = new Map<string, readonly string[]>()
  for (const table of tables.sort()) waiting.set(table, await referred(db, engine, table))
  const ordered: string[] = []
  const visit = (table: string, path: readonly string[]): void => {
    if (ordered.includes(table) || path.includes(table)) return
    for (const other of waiting.get(table) ?? []) if (waiting.has(other)) visit(other, [...path, table])
    ordered.push(table)
  }
  for (const table of waiting.keys()) visit(table, [])
  return ordered
}

async function referred(db: Reader, engine: Engine, table: string): Promise<readonly string[]> {
  const query =
    engine === 'sqlite'
      ? sql<{ name: string }>`select "table" as name from pragma_foreign_key_list(${table})`
      : sql<{
          name: string
        }>`select confrelid::regclass::text as name from pg_constraint where contype = 'f' and conrelid = ${table}::regclass`
  return (await query.execute(db)).rows.map(({ name }) => name.replaceAll('"', ''))
}

async function pageOf(
  db: Reader,
  engine: Engine,
  table: string,
  after: unknown,
  limit: number,
): Promise<readonly StoredRow[]> {
  const place = engine === 'sqlite' ? sql`_rowid_` : sql`ctid`
  const shown = engine === 'sqlite' ? place : sql`ctid::text`
  const last = engine === 'sqlite' ? sql`${after}` : sql`${after}::tid`
  const from = after === undefined ? sql`` : sql`where ${place} > ${last}`
  const { rows } =
    await sql<StoredRow>`select ${shown} as ${sql.ref(PLACE)}, * from ${sql.table(table)} ${from} order by ${place} limit ${limit}`.execute(
      db,
    )
  return rows
}

function pageFor(types: Readonly<Record<string, string>>): number {
  return Object.values(types).some(type => type === 'blob' || type === 'bytea') ? PAGE_OF_BYTES : PAGE
}

async function typesOf(db: Reader, table: string): Promise<Readonly<Record<string, string>>> {
  const found = (await db.introspection.getTables()).find(({ name }) => name === table)
  return Object.fromEntries((found?.columns ?? []).map(({ name, dataType }) => [name, dataType.toLowerCase()]))
}

/** Values in JSON: bytes as `{base64}`, times as ISO 8601, JSON of PostgreSQL as its text. */
function written(row: StoredRow): StoredRow {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      if (value instanceof Uint8Array) return [column, { base64: Buffer.from(value).toString('base64') }]
      if (value instanceof Date) return [column, value.toISOString()]
      if (typeof value === 'bigint') return [column, String(value)]
      return [column, typeof value === 'object' && value !== null ? JSON.stringify(value) : value]
    }),
  )
}

function read(content: string): StoredRow {
  const row = JSON.parse(content) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const isBytes = typeof value === 'object' && value !== null && 'base64' in value
      return [column, isBytes ? Buffer.from(String(value.base64), 'base64') : value]
    }),
  )
}

/** The columns that the table has, in the types of its database. */
function valuesFor(row: StoredRow, types: Readonly<Record<string, string>>, engine: Engine): StoredRow {
  const known = Object.entries(row).filter(([column]) => Object.hasOwn(types, column))
  return Object.fromEntries(
    known.map(([column, value]) => {
      if (engine === 'sqlite') return [column, typeof value === 'boolean' ? Number(value) : value]
      const isBoolean = types[column]?.startsWith('bool') === true
      return [column, isBoolean && typeof value === 'number' ? value !== 0 : value]
    }),
  )
}
