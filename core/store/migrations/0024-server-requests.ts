import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Renames the column as in the code; stored values stay. */
export const serverRequests: Migration = {
  async up(db: Kysely<never>) {
    await db.schema.alterTable('server_asking').renameColumn('asks', 'requests').execute()
  },
}
