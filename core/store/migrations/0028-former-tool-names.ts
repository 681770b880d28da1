import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The names that another hub gave to the tools of an imported group's members. Groups of earlier imports get the usual form,
 * `{server}-{tool}`.
 */
export const formerToolNames: Migration = {
  async up(db: Kysely<never>) {
    await db.schema.alterTable('group_member').addColumn('former_prefix', 'text').execute()
    await sql`
      update group_member set former_prefix =
        (select server.name from server where server.id = group_member.server_id) || '-'
      where group_id in (select group_id from group_former_path)
    `.execute(db)
  },
}
