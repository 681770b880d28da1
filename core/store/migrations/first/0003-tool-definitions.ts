import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Hashes of tool definitions: the last one seen and the one that the owner approved. */
export const toolDefinitions: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('tool_definition')
      .addColumn('server_id', 'text', column => column.notNull().references('server.id').onDelete('cascade'))
      .addColumn('tool', 'text', column => column.notNull())
      .addColumn('seen_hash', 'text', column => column.notNull())
      .addColumn('approved_hash', 'text', column => column.notNull())
      .addColumn('seen_at', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('tool_definition_key', ['server_id', 'tool'])
      .execute()
  },
}
