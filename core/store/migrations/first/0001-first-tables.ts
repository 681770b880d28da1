import { randomUUID } from 'node:crypto'
import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The tables of the first release, and user row 1: it has no name and no password until set-up, so that the entries of
 * the settings file have an owner from the first start and never change it.
 */
export function firstTables(dialect: 'sqlite' | 'postgres'): Migration {
  return {
    async up(db: Kysely<never>) {
      await people(db)
      await things(db)
      await others(db, dialect)
      await firstUser(db)
    },
  }
}

async function people(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('user')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('number', 'integer', column => column.notNull().unique())
    .addColumn('name', 'text')
    .addColumn('name_key', 'text', column => column.unique())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('password_hash', 'text')
    .addColumn('token_epoch', 'integer', column => column.notNull())
    .addColumn('disabled', 'integer', column => column.notNull())
    .addColumn('must_change_password', 'integer', column => column.notNull())
    .addColumn('origin', 'text', column => column.notNull())
    .addColumn('revision', 'integer', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('updated_at', 'text', column => column.notNull())
    .execute()
  await db.schema
    .createTable('access_key')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('hash', 'text', column => column.notNull().unique())
    .addColumn('label', 'text', column => column.notNull())
    .addColumn('last4', 'text', column => column.notNull())
    .addColumn('scopes', 'text', column => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('last_used_at', 'text')
    .addColumn('created_at', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('access_key_owner').on('access_key').column('owner_id').execute()
  await db.schema
    .createTable('revoked_token')
    .addColumn('token_id', 'text', column => column.primaryKey())
    .addColumn('expires_at', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('revoked_token_end').on('revoked_token').column('expires_at').execute()
}

/** Columns that servers and groups share. An owner with servers or groups cannot be deleted: the caller must move them
 * first. */
function owned<Name extends string>(table: CreateTableBuilder<Name>): CreateTableBuilder<Name, string> {
  return table
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('restrict'))
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('name_key', 'text', column => column.notNull())
    .addColumn('visibility', 'text', column => column.notNull())
    .addColumn('origin', 'text', column => column.notNull())
    .addColumn('revision', 'integer', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('updated_at', 'text', column => column.notNull())
}

async function things(db: Kysely<never>): Promise<void> {
  await owned(db.schema.createTable('server'))
    .addColumn('transport', 'text', column => column.notNull())
    .addColumn('config', 'text', column => column.notNull())
    .addColumn('enabled', 'integer', column => column.notNull())
    .addColumn('problem', 'text')
    .addUniqueConstraint('server_owner_name', ['owner_id', 'name_key'])
    .execute()
  await db.schema.createIndex('server_name').on('server').column('name_key').execute()
  await owned(db.schema.createTable('server_group'))
    .addColumn('description', 'text')
    .addColumn('naming', 'text', column => column.notNull())
    .addColumn('result_limit_bytes', 'integer')
    .addUniqueConstraint('server_group_owner_name', ['owner_id', 'name_key'])
    .execute()
  await db.schema.createIndex('server_group_name').on('server_group').column('name_key').execute()
  await db.schema
    .createTable('group_member')
    .addColumn('group_id', 'text', column => column.notNull().references('server_group.id').onDelete('cascade'))
    .addColumn('server_id', 'text', column => column.notNull().references('server.id').onDelete('cascade'))
    .addColumn('position', 'integer', column => column.notNull())
    .addColumn('alias', 'text')
    .addColumn('tools', 'text', column => column.notNull())
    .addColumn('prompts', 'text', column => column.notNull())
    .addColumn('resources', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('group_member_key', ['group_id', 'server_id'])
    .execute()
  await db.schema.createIndex('group_member_server').on('group_member').column('server_id').execute()
  await db.schema
    .createTable('server_catalog')
    .addColumn('server_id', 'text', column => column.primaryKey().references('server.id').onDelete('cascade'))
    .addColumn('config_hash', 'text', column => column.notNull())
    .addColumn('catalog', 'text', column => column.notNull())
    .addColumn('read_at', 'text', column => column.notNull())
    .execute()
}

async function others(db: Kysely<never>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  await db.schema
    .createTable('setting')
    .addColumn('scope', 'text', column => column.notNull())
    .addColumn('key', 'text', column => column.notNull())
    .addColumn('value', 'text', column => column.notNull())
    .addColumn('secret', 'integer', column => column.notNull())
    .addColumn('updated_at', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('setting_key', ['scope', 'key'])
    .execute()
  await db.schema
    .createTable('audit')
    .addColumn('id', dialect === 'sqlite' ? 'integer' : 'bigserial', column =>
      dialect === 'sqlite' ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('at', 'text', column => column.notNull())
    .addColumn('user_id', 'text')
    .addColumn('user_name', 'text', column => column.notNull())
    .addColumn('action', 'text', column => column.notNull())
    .addColumn('owner_id', 'text')
    .addColumn('target', 'text', column => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('detail', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('audit_user').on('audit').column('user_id').execute()
  await db.schema.createIndex('audit_owner').on('audit').column('owner_id').execute()
}

async function firstUser(db: Kysely<never>): Promise<void> {
  const now = new Date().toISOString()
  await sql`
    insert into "user" (id, number, name, name_key, role, password_hash, token_epoch, disabled, must_change_password,
      origin, revision, created_at, updated_at)
    values (${randomUUID()}, 1, null, null, 'admin', null, 1, 0, 0, 'store', 1, ${now}, ${now})
  `.execute(db)
}
