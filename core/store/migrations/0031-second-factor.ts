import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The plugin that checks a second factor of a user at each sign-in. */
export const secondFactor: Migration = {
  async up(db: Kysely<never>) {
    await db.schema.alterTable('user').addColumn('second_factor', 'text').execute()
  },
}
