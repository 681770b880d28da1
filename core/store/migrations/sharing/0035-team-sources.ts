import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Teams get a provider of sign-ins and a group there, by which their members are set. */
export const teamSources: Migration = {
  async up(db: Kysely<never>) {
    for (const column of ['source_provider', 'source_group'])
      await db.schema.alterTable('team').addColumn(column, 'text').execute()
  },
}
