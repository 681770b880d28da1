import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Whether a rule or channel is held by the settings file. */
export const alertOrigin: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .alterTable('alert_setting')
      .addColumn('origin', 'text', column => column.notNull().defaultTo('api'))
      .execute()
  },
}
