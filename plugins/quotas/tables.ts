import type { Migration } from 'patchbay/contract'
import type { QuotaKind } from './types.ts'

/** A quota. `id`: its subject. `quota`: JSON. */
export interface PlanRow {
  readonly id: string
  readonly kind: Exclude<QuotaKind, 'system'>
  readonly user_id: string | null
  readonly server_id: string | null
  readonly group_id: string | null
  readonly quota: string
}

/** Numbers of the last day on which a thing with a quota was used. `id`: the subject. */
export interface CounterRow {
  readonly id: string
  readonly day: string
  readonly calls: number
  readonly tokens: number
}

/** The use of one user in one day, by key, server and tool. */
export interface UsageRow {
  readonly user_id: string
  readonly day: string
  readonly key_id: string
  readonly server_id: string
  readonly tool: string
  readonly calls: number
  readonly failures: number
  readonly result_tokens: number
}

/** The tables of this plugin. */
export interface QuotaTables {
  plan: PlanRow
  counter: CounterRow
  usage: UsageRow
}

/** Makes the tables. */
export const first: Migration = async db => {
  await db.schema
    .createTable('plan')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('user_id', 'text', column => column.references('user.id').onDelete('cascade'))
    .addColumn('server_id', 'text', column => column.references('server.id').onDelete('cascade'))
    .addColumn('group_id', 'text', column => column.references('server_group.id').onDelete('cascade'))
    .addColumn('quota', 'text', column => column.notNull())
    .execute()
  await db.schema
    .createTable('counter')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('day', 'text', column => column.notNull())
    .addColumn('calls', 'double precision', column => column.notNull())
    .addColumn('tokens', 'double precision', column => column.notNull())
    .execute()
  await db.schema
    .createTable('usage')
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('day', 'text', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('server_id', 'text', column => column.notNull())
    .addColumn('tool', 'text', column => column.notNull())
    .addColumn('calls', 'double precision', column => column.notNull())
    .addColumn('failures', 'double precision', column => column.notNull())
    .addColumn('result_tokens', 'double precision', column => column.notNull())
    .execute()
  await db.schema
    .createIndex('usage_place')
    .on('usage')
    .columns(['user_id', 'day', 'key_id', 'server_id', 'tool'])
    .unique()
    .execute()
  await db.schema.createIndex('usage_server').on('usage').columns(['server_id', 'day']).execute()
}
