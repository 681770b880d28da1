import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Sign-ins that are open, and links with which a forgotten password is replaced once. */
export const signIns: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('sign_in')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('epoch', 'integer', column => column.notNull())
      .addColumn('client_address', 'text', column => column.notNull())
      .addColumn('client', 'text')
      .addColumn('created_at', 'text', column => column.notNull())
      .addColumn('last_used_at', 'text', column => column.notNull())
      .addColumn('expires_at', 'text', column => column.notNull())
      .execute()
    await db.schema.createIndex('sign_in_user').on('sign_in').column('user_id').execute()
    await db.schema
      .createTable('reset_link')
      .addColumn('user_id', 'text', column => column.primaryKey().references('user.id').onDelete('cascade'))
      .addColumn('hash', 'text', column => column.notNull().unique())
      .addColumn('epoch', 'integer', column => column.notNull())
      .addColumn('expires_at', 'text', column => column.notNull())
      .execute()
  },
}
