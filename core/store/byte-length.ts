import { type RawBuilder, sql } from 'kysely'

/**
 * SQL for the total UTF-8 bytes of some columns, or null without rows. Neither database reads the values themselves:
 * SQLite has their lengths in the row's header, PostgreSQL in the pointers to values stored out of line.
 */
export function sumBytes(...columns: readonly string[]): RawBuilder<number | string | null> {
  const lengths = columns.map(column => sql`coalesce(octet_length(${sql.ref(column)}), 0)`)
  return sql`sum(${sql.join(lengths, sql` + `)})`
}
