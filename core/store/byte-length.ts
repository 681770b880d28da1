import { type RawBuilder, sql } from 'kysely'

/**
 * The bytes that all values of some columns have in UTF-8, or null without rows. Neither database reads the values for it:
 * SQLite has their lengths in the head of the row, PostgreSQL beside values that it keeps elsewhere.
 */
export function sumBytes(...columns: readonly string[]): RawBuilder<number | string | null> {
  const lengths = columns.map(column => sql`coalesce(octet_length(${sql.ref(column)}), 0)`)
  return sql`sum(${sql.join(lengths, sql` + `)})`
}
