import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Records created by imports, so that each import can be undone, and the paths that imported groups had before. */
export const imports: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('import_run')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('source', 'text', column => column.notNull())
      .addColumn('made', 'text', column => column.notNull())
      .addColumn('created_at', 'text', column => column.notNull())
      .execute()
    await db.schema.createIndex('import_run_owner').on('import_run').columns(['owner_id', 'created_at']).execute()
    await db.schema
      .createTable('group_former_path')
      .addColumn('group_id', 'text', column => column.notNull().references('server_group.id').onDelete('cascade'))
      .addColumn('path_key', 'text', column => column.notNull())
      .addPrimaryKeyConstraint('group_former_path_key', ['group_id', 'path_key'])
      .execute()
    await db.schema.createIndex('group_former_path_path').on('group_former_path').column('path_key').execute()
  },
}
