import type { Migration } from 'patchbay/contract'
import type { Who } from './rules.ts'
import type { ApprovalState, EndReason } from './types.ts'

/** The rules of a server or a group: `server:…`, `group:…`. `policy`: JSON. */
export interface PolicyRow {
  readonly id: string
  readonly server_id: string | null
  readonly group_id: string | null
  readonly policy: string
}

/**
 * One request. `user_id`: the caller, which `decider_id` repeats where a team decides. `sealed`: the arguments as they are shown,
 * until the decision. `reason`: why it ended without a decision, if not for its time. `via`: the group of the path, as `owner~name`.
 * `called`: the name by which the tool was called. Times are ISO 8601 UTC.
 */
export interface ApprovalRow {
  readonly id: string
  readonly user_id: string
  readonly decider_id: string
  readonly server_id: string
  readonly who: Who
  readonly tool: string
  readonly client: string
  readonly count: number
  readonly created_at: string
  readonly expires_at: string
  readonly state: ApprovalState
  readonly decided_by: string | null
  readonly decided_at: string | null
  readonly note: string | null
  readonly sealed: string | null
  readonly team_id: string | null
  readonly reason: EndReason | null
  readonly via: string | null
  readonly called: string | null
}

/**
 * A yes that calls may still use. `id`: made of who calls, where, the tool, the arguments and the rule by a key of the hub.
 * `lasting`: 1 for all equal calls until then, 0 for the next one.
 */
export interface DecisionRow {
  readonly id: string
  readonly user_id: string
  readonly server_id: string
  readonly approval_id: string
  readonly lasting: number
  readonly valid_until: string
}

/** The tables of this plugin. */
export interface ApprovalTables {
  policy: PolicyRow
  approval: ApprovalRow
  decision: DecisionRow
}

/** Makes the tables. */
export const first: Migration = async db => {
  await db.schema
    .createTable('policy')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('server_id', 'text', column => column.references('server.id').onDelete('cascade'))
    .addColumn('group_id', 'text', column => column.references('server_group.id').onDelete('cascade'))
    .addColumn('policy', 'text', column => column.notNull())
    .execute()
  await db.schema
    .createTable('approval')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('decider_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('server_id', 'text', column => column.notNull().references('server.id').onDelete('cascade'))
    .addColumn('who', 'text', column => column.notNull())
    .addColumn('tool', 'text', column => column.notNull())
    .addColumn('client', 'text', column => column.notNull())
    .addColumn('count', 'integer', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('expires_at', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('decided_by', 'text')
    .addColumn('decided_at', 'text')
    .addColumn('note', 'text')
    .addColumn('sealed', 'text')
    .execute()
  await db.schema.createIndex('approval_caller').on('approval').columns(['user_id', 'created_at']).execute()
  await db.schema.createIndex('approval_decider').on('approval').columns(['decider_id', 'created_at']).execute()
}

/** Adds decisions by teams, and yeses that outlive a restart. */
export const second: Migration = async db => {
  await db.schema.alterTable('approval').addColumn('team_id', 'text').execute()
  await db.schema.alterTable('approval').addColumn('reason', 'text').execute()
  await db.schema.createIndex('approval_team').on('approval').columns(['team_id', 'created_at']).execute()
  await db.schema
    .createTable('decision')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('server_id', 'text', column => column.notNull().references('server.id').onDelete('cascade'))
    .addColumn('approval_id', 'text', column => column.notNull())
    .addColumn('lasting', 'integer', column => column.notNull())
    .addColumn('valid_until', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('decision_caller').on('decision').columns(['user_id']).execute()
  await db.schema.createIndex('decision_server').on('decision').columns(['server_id']).execute()
}

/** Adds the names by which callers know what they called. */
export const third: Migration = async db => {
  await db.schema.alterTable('approval').addColumn('via', 'text').execute()
  await db.schema.alterTable('approval').addColumn('called', 'text').execute()
}
