import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Groups get instructions and tags of their own, and an argument that chooses among members. */
export const groupSelectors: Migration = {
  async up(db: Kysely<never>) {
    for (const column of ['instructions', 'tags', 'selector'])
      await db.schema.alterTable('server_group').addColumn(column, 'text').execute()
    await db.schema.alterTable('group_member').addColumn('selected_by', 'text').execute()
  },
}
