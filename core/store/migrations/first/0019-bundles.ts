import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Bundles of servers (MCPB), in parts, stored once for all users who have the same one. */
export function bundles(dialect: 'sqlite' | 'postgres'): Migration {
  return {
    async up(db: Kysely<never>) {
      await db.schema
        .createTable('bundle')
        .addColumn('sha256', 'text', column => column.primaryKey())
        .addColumn('bytes', 'integer', column => column.notNull())
        .addColumn('manifest', 'text', column => column.notNull())
        .addColumn('signed', 'integer', column => column.notNull())
        .execute()
      await db.schema
        .createTable('bundle_owner')
        .addColumn('sha256', 'text', column => column.notNull().references('bundle.sha256').onDelete('cascade'))
        .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
        .addColumn('used_at', 'text', column => column.notNull())
        .addPrimaryKeyConstraint('bundle_owner_key', ['sha256', 'owner_id'])
        .execute()
      await db.schema.createIndex('bundle_owner_owner').on('bundle_owner').column('owner_id').execute()
      // No reference: parts are written before the row that makes them a bundle.
      await db.schema
        .createTable('bundle_part')
        .addColumn('sha256', 'text', column => column.notNull())
        .addColumn('part', 'integer', column => column.notNull())
        .addColumn('content', dialect === 'sqlite' ? 'blob' : 'bytea', column => column.notNull())
        .addPrimaryKeyConstraint('bundle_part_key', ['sha256', 'part'])
        .execute()
    },
  }
}
