import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The requests that each server sends to clients (sampling, elicitation, roots), so that they need not be detected
 * again at every start; and the members that groups lost because their servers were deleted, so that the group can show
 * them.
 */
export const askingAndLostMembers: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('server_asking')
      .addColumn('server_id', 'text', column => column.primaryKey().references('server.id').onDelete('cascade'))
      .addColumn('config_hash', 'text', column => column.notNull())
      .addColumn('version', 'text', column => column.notNull())
      .addColumn('asks', 'text', column => column.notNull())
      .addColumn('tools', 'text', column => column.notNull())
      .addColumn('seen_at', 'text', column => column.notNull())
      .execute()
    await db.schema
      .createTable('group_lost_member')
      .addColumn('group_id', 'text', column => column.notNull().references('server_group.id').onDelete('cascade'))
      .addColumn('server_name', 'text', column => column.notNull())
      .addColumn('lost_at', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('group_lost_member_key', ['group_id', 'server_name'])
      .execute()
  },
}
