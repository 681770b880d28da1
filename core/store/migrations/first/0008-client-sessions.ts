import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The open sessions of MCP clients, so that a restarted hub continues these and accepts no others. */
export const clientSessions: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('client_session')
      .addColumn('key', 'text', column => column.primaryKey())
      .addColumn('used_at', 'text', column => column.notNull())
      .execute()
    await db.schema.createIndex('client_session_used').on('client_session').column('used_at').execute()
  },
}
