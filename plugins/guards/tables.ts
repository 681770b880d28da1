import type { Migration } from 'patchbay/contract'

/** The rules of one server or group. `id`: of the server or group. `sealed`: the secrets of its webhooks by rule, as JSON. */
export interface RuleSetRow {
  readonly id: string
  readonly user_id: string | null
  readonly server_id: string | null
  readonly group_id: string | null
  readonly rules: string
  readonly sealed: string | null
}

/** The table of this plugin. */
export interface GuardTables {
  rule_set: RuleSetRow
}

/** Makes the table. */
export const first: Migration = async db => {
  await db.schema
    .createTable('rule_set')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.references('user.id').onDelete('cascade'))
    .addColumn('server_id', 'text', column => column.references('server.id').onDelete('cascade'))
    .addColumn('group_id', 'text', column => column.references('server_group.id').onDelete('cascade'))
    .addColumn('rules', 'text', column => column.notNull())
    .addColumn('sealed', 'text')
    .execute()
}
