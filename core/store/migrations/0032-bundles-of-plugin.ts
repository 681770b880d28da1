import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

const PREFIX = 'plugin_bundles__'

/** Bundles belong to their plugin: its tables get its prefix, and its first migration is made, which has these tables. */
export const bundlesOfPlugin: Migration = {
  async up(db: Kysely<Record<string, Record<string, unknown>>>) {
    await db.schema.alterTable('bundle').renameTo(`${PREFIX}files`).execute()
    await db.schema.alterTable('bundle_owner').renameTo(`${PREFIX}owners`).execute()
    await db.schema.alterTable('bundle_part').renameTo(`${PREFIX}parts`).execute()
    await db.schema.dropIndex('bundle_owner_owner').execute()
    await db.schema.createIndex(`${PREFIX}owners_owner`).on(`${PREFIX}owners`).column('owner_id').execute()
    await db.schema
      .createTable(`${PREFIX}migration`)
      .addColumn('name', 'text', column => column.primaryKey())
      .addColumn('applied_at', 'text', column => column.notNull())
      .execute()
    await db
      .insertInto(`${PREFIX}migration`)
      .values({ name: '0001-bundles', applied_at: new Date().toISOString() })
      .execute()
  },
}
