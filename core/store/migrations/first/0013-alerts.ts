import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Alert rules, notification channels, silences, the state of rules, what fired, and the messages about it. */
export const alerts: Migration = {
  async up(db: Kysely<never>) {
    await createSettings(db)
    await createStates(db)
    await db.schema
      .createTable('alert_delivery')
      .addColumn('id', 'text', column => column.primaryKey())
      .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('channel_id', 'text', column => column.notNull().references('alert_setting.id').onDelete('cascade'))
      .addColumn('rule_id', 'text', column => column.notNull())
      .addColumn('incident_id', 'text', column => column.references('alert_incident.id').onDelete('cascade'))
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('number', 'integer', column => column.notNull())
      .addColumn('message_id', 'text')
      .addColumn('state', 'text', column => column.notNull())
      .addColumn('attempts', 'integer', column => column.notNull())
      .addColumn('detail', 'text')
      .addColumn('created_at', 'text', column => column.notNull())
      .addColumn('updated_at', 'text', column => column.notNull())
      .addUniqueConstraint('alert_delivery_once', ['incident_id', 'channel_id', 'kind', 'number'])
      .execute()
    const open = db.schema.createIndex('alert_delivery_open').on('alert_delivery')
    await open.columns(['channel_id', 'state', 'rule_id']).execute()
  },
}

async function createSettings(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('alert_setting')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('name_key', 'text', column => column.notNull())
    .addColumn('body', 'text', column => column.notNull())
    .addColumn('secrets', 'text')
    .addColumn('revision', 'integer', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('updated_at', 'text', column => column.notNull())
    .addUniqueConstraint('alert_setting_name', ['owner_id', 'kind', 'name_key'])
    .execute()
  await db.schema
    .createTable('alert_silence')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('rule', 'text')
    .addColumn('server', 'text')
    .addColumn('severity', 'text')
    .addColumn('comment', 'text', column => column.notNull())
    .addColumn('starts_at', 'text', column => column.notNull())
    .addColumn('ends_at', 'text', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('alert_silence_owner').on('alert_silence').column('owner_id').execute()
}

async function createStates(db: Kysely<never>): Promise<void> {
  await db.schema
    .createTable('alert_instance')
    .addColumn('rule_id', 'text', column => column.notNull().references('alert_setting.id').onDelete('cascade'))
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('incident_id', 'text')
    .addPrimaryKeyConstraint('alert_instance_key', ['rule_id', 'subject'])
    .execute()
  await db.schema
    .createTable('alert_incident')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('rule_id', 'text', column => column.notNull())
    .addColumn('rule', 'text', column => column.notNull())
    .addColumn('severity', 'text', column => column.notNull())
    .addColumn('condition', 'text', column => column.notNull())
    .addColumn('threshold', 'double precision')
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('server', 'text')
    .addColumn('tool', 'text')
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('value', 'text', column => column.notNull())
    .addColumn('flapping', 'integer', column => column.notNull())
    .addColumn('starts_at', 'text', column => column.notNull())
    .addColumn('ends_at', 'text')
    .addColumn('reason', 'text')
    .addColumn('acked_by', 'text')
    .addColumn('acked_at', 'text')
    .execute()
  await db.schema.createIndex('alert_incident_owner').on('alert_incident').columns(['owner_id', 'starts_at']).execute()
}
