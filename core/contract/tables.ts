import type { Kysely } from 'kysely'

type AnyTables = Record<string, Record<string, unknown>>

/** Queries of a plugin's tables, by their own names. Without SQL as text: it could read what belongs to others. */
export type TableReader<Schema> = Pick<Kysely<Schema>, 'selectFrom' | 'fn' | 'case'>
/** The same in a transaction that changes them. */
export type TableWriter<Schema> = TableReader<Schema> &
  Pick<Kysely<Schema>, 'insertInto' | 'updateTable' | 'deleteFrom'>
/** A transaction that changes the tables themselves. */
export type TableChanger = TableWriter<AnyTables> & Pick<Kysely<AnyTables>, 'schema'>

/**
 * Tables of the plugin in the hub's database, SQLite or PostgreSQL. `Schema` has a member for each table, as Kysely wants it.
 * Failures of the database are thrown as `storage_full`, `storage_busy` and `storage_unavailable`.
 */
export interface PluginTables<Schema> {
  read<T>(work: (db: TableReader<Schema>) => Promise<T>): Promise<T>
  /**
   * One serializable transaction. It may run again after a conflict: `work` has no effects but on `db`, and through `after`,
   * whose functions run once it is committed.
   */
  write<T>(work: (db: TableWriter<Schema>, after: (effect: () => void) => void) => Promise<T>): Promise<T>
}

/**
 * One change of the plugin's tables; a released one is never changed. All that are new run in one transaction, in the order of
 * their names. A table may refer to `user.id`, `server.id` and `server_group.id` with `onDelete('cascade')` or `'set null'`.
 */
export type Migration = (db: TableChanger, engine: 'sqlite' | 'postgres') => Promise<void>
