import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Servers that an administrator configured outside ADMIN_ADDRESSES have a rights cap instead of a setting. */
export const oneRightsCap: Migration = {
  async up(db: Kysely<never>) {
    const { rows } = await sql<{ id: string; config: string; cap: string | null; network: string }>`
      select server.id as id, config, rights_cap as cap, network_grant as network
      from server join "user" on "user".id = owner_id where config like '%"confined":true%'`.execute(db)
    for (const { id, config, cap, network } of rows) {
      const { confined, ...settings } = JSON.parse(config) as Record<string, unknown>
      // The text may also be part of a value.
      if (confined !== true) continue
      const lower = cap === 'none' || network === 'none' ? 'none' : 'proxy'
      await sql`update server set config = ${JSON.stringify(settings)}, rights_cap = ${lower} where id = ${id}`.execute(
        db,
      )
    }
  },
}
