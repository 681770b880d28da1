import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Rows of plugins' tables that came with a restore or a move, until their plugin starts and has its tables. */
export const waitingRows: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('waiting_row')
      .addColumn('table_name', 'text', column => column.notNull())
      .addColumn('position', 'integer', column => column.notNull())
      .addColumn('content', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('waiting_row_key', ['table_name', 'position'])
      .execute()
  },
}
