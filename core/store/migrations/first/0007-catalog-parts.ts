import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Stores each server's lists in rows of bounded size. Lists stored as one text are dropped: they are read again from
 * the servers.
 */
export const catalogParts: Migration = {
  async up(db: Kysely<never>) {
    await db.deleteFrom('server_catalog' as never).execute()
    await db.schema
      .createTable('server_catalog_part')
      .addColumn('server_id', 'text', column => column.notNull().references('server.id').onDelete('cascade'))
      .addColumn('list_id', 'text', column => column.notNull())
      .addColumn('part', 'integer', column => column.notNull())
      .addColumn('items', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('server_catalog_part_key', ['server_id', 'list_id', 'part'])
      .execute()
  },
}
