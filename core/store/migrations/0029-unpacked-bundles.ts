import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** How much disk space a bundle takes once it is unpacked; 0 until that is known, for bundles of earlier versions. */
export const unpackedBundles: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .alterTable('bundle')
      .addColumn('unpacked_bytes', 'integer', column => column.notNull().defaultTo(0))
      .execute()
  },
}
