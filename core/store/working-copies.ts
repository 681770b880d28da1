import Database from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import { migrateToLatest } from './migrate.ts'
import type { Store } from './open.ts'
import { adapted } from './sqlite-adapter.ts'
import { HubSqliteDialect } from './sqlite-dialect.ts'
import type { Tables } from './tables.ts'

/**
 * In-memory databases with the tables of the store and no rows. Work on some rows of the store can be done in one of them for
 * seconds without holding a lock of the store. They are SQLite, whatever the store is.
 */
export class WorkingCopies {
  #schema: Promise<string> | undefined

  /**
   * Opens an empty database. Its references are not checked until {@link checkReferences}, so that rows may be added in any
   * order. The caller closes it.
   */
  async open(): Promise<Store> {
    // All migrations take a tenth of a second, the finished tables some milliseconds.
    this.#schema ??= finishedSchema()
    const database = openInMemory()
    database.exec(await this.#schema)
    const db = queries(database)
    return { db, dialect: 'sqlite', ping: async () => 'ok', close: () => db.destroy() }
  }
}

/** From now on a row that refers to a missing one is refused. Call it outside of a transaction. */
export async function checkReferences({ db }: Pick<Store, 'db'>): Promise<void> {
  await sql`pragma foreign_keys = on`.execute(db)
}

async function finishedSchema(): Promise<string> {
  const database = openInMemory()
  const db = queries(database)
  try {
    await migrateToLatest(db, 'sqlite')
    const rows = database.prepare("select sql from sqlite_schema where sql is not null and name not like 'sqlite_%'")
    return (rows.all() as { sql: string }[]).map(({ sql }) => sql).join(';\n')
  } finally {
    await db.destroy()
  }
}

function openInMemory(): Database {
  const database = new Database(':memory:')
  database.pragma('foreign_keys = OFF')
  return database
}

function queries(database: Database): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new HubSqliteDialect({ database: adapted(database) }) })
}
