import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Teams, and what owners share of their servers and groups with users and teams. */
export const shares: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('team')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('name_key', 'text', column => column.notNull().unique())
      .addColumn('created_at', 'text', column => column.notNull())
      .execute()
    await db.schema
      .createTable('team_member')
      .addColumn('team_id', 'text', column => column.notNull().references('team.id').onDelete('cascade'))
      .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
      .addPrimaryKeyConstraint('team_member_key', ['team_id', 'user_id'])
      .execute()
    await db.schema.createIndex('team_member_user').on('team_member').column('user_id').execute()
    await db.schema
      .createTable('share')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('server_id', 'text', column => column.references('server.id').onDelete('cascade'))
      .addColumn('group_id', 'text', column => column.references('server_group.id').onDelete('cascade'))
      .addColumn('user_id', 'text', column => column.references('user.id').onDelete('cascade'))
      .addColumn('team_id', 'text', column => column.references('team.id').onDelete('cascade'))
      .addColumn('role', 'text', column => column.notNull())
      .addColumn('origin', 'text', column => column.notNull())
      .addColumn('granted_by', 'text', column => column.references('user.id').onDelete('set null'))
      .addColumn('created_at', 'text', column => column.notNull())
      .addCheckConstraint('share_thing', sql`(server_id is null) <> (group_id is null)`)
      .addCheckConstraint('share_subject', sql`(user_id is null) <> (team_id is null)`)
      .execute()
    // Nulls differ in a unique index, so that each index holds for one kind of thing and subject.
    for (const thing of ['server', 'group'])
      for (const subject of ['user', 'team'])
        await db.schema
          .createIndex(`share_${thing}_${subject}`)
          .on('share')
          .columns([`${thing}_id`, `${subject}_id`])
          .unique()
          .execute()
    await db.schema.createIndex('share_user').on('share').column('user_id').execute()
    await db.schema.createIndex('share_team').on('share').column('team_id').execute()
    await db.schema.createIndex('share_granted_by').on('share').column('granted_by').execute()
  },
}
