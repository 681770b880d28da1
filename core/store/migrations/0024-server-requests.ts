import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The column gets the name that the code has for it: what is stored stays. */
export const serverRequests: Migration = {
  async up(db: Kysely<never>) {
    await db.schema.alterTable('server_asking').renameColumn('asks', 'requests').execute()
  },
}
