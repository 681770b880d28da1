import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Marks rules, channels and endpoints that have the rights of an ordinary user, whoever their owner is. */
export const limitedSettings: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .alterTable('owned_setting')
      .addColumn('limited', 'integer', column => column.notNull().defaultTo(0))
      .execute()
  },
}
