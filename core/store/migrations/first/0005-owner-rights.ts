import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Limits servers to fewer rights than their owner's, if a user with fewer rights configured them. */
export const ownerRights: Migration = {
  async up(db: Kysely<never>) {
    await db.schema.alterTable('server').addColumn('rights_cap', 'text').execute()
    await db.schema
      .alterTable('server')
      .addColumn('awaits_review', 'integer', column => column.notNull().defaultTo(0))
      .execute()
  },
}
