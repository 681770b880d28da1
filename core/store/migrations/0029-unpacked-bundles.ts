import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Disk space of the unpacked bundle, in bytes; 0 while unknown, for bundles of earlier versions. */
export const unpackedBundles: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .alterTable('bundle')
      .addColumn('unpacked_bytes', 'integer', column => column.notNull().defaultTo(0))
      .execute()
  },
}
