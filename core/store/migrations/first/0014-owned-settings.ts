import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Dashboards share a table with rules and channels, and each may come from the settings file. */
export const ownedSettings: Migration = {
  async up(db: Kysely<never>) {
    await db.schema.alterTable('alert_setting').renameTo('owned_setting').execute()
    await db.schema
      .alterTable('owned_setting')
      .addColumn('origin', 'text', column => column.notNull().defaultTo('api'))
      .execute()
  },
}
