import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The MCP era of each server, so that it is not probed at every start. */
export const serverEra: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('server_era')
      .addColumn('server_id', 'text', column => column.primaryKey().references('server.id').onDelete('cascade'))
      .addColumn('era', 'text', column => column.notNull())
      .addColumn('config_hash', 'text', column => column.notNull())
      .addColumn('credential_hash', 'text', column => column.notNull())
      .addColumn('probed_at', 'text', column => column.notNull())
      .execute()
  },
}
