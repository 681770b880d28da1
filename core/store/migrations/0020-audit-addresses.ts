import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The address of the client whose request an entry of the audit log is about. */
export const auditAddresses: Migration = {
  async up(db: Kysely<never>) {
    await db.schema.alterTable('audit').addColumn('client_address', 'text').execute()
  },
}
