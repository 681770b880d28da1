import Database from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import { migrateTo, migrateToLatest } from './migrate.ts'
import { adapted } from './sqlite-adapter.ts'
import { HubSqliteDialect } from './sqlite-dialect.ts'
import type { Tables } from './tables.ts'

/** A temporary SQLite database in which rows of an older schema are brought to the newest. */
export interface Scratch {
  readonly db: Kysely<Tables>
  /** Migrates the tables to the newest schema. Returns the tables in which a row refers to a missing one. */
  finish(): Promise<readonly string[]>
  close(): Promise<void>
}

/** Creates the file, with the tables as of the change `schema` and no rows. Not durable: it is temporary. */
export async function openScratch(path: string, schema: string): Promise<Scratch> {
  const database = new Database(path)
  // The rows are added table by table; references are checked at the end.
  for (const pragma of ['journal_mode = MEMORY', 'synchronous = OFF', 'foreign_keys = OFF']) database.pragma(pragma)
  const db = new Kysely<Tables>({ dialect: new HubSqliteDialect({ database: adapted(database) }) })
  await migrateTo(db, 'sqlite', schema)
  await db.deleteFrom('user').execute()
  return {
    db,
    async finish() {
      await migrateToLatest(db, 'sqlite')
      const { rows } = await sql<{ table: string }>`pragma foreign_key_check`.execute(db)
      return [...new Set(rows.map(({ table }) => table))]
    },
    close: () => db.destroy(),
  }
}
