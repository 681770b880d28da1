import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Rights that administrators grant to single users beyond the default. */
export const userGrants: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .alterTable('user')
      .addColumn('network_grant', 'text', column => column.notNull().defaultTo('none'))
      .execute()
  },
}
