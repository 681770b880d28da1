import type { Migration } from 'patchbay/contract'
import type { ApprovalState } from './types.ts'

/** The rules of a server or a group: `server:…`, `group:…`. `policy`: JSON. */
export interface PolicyRow {
  readonly id: string
  readonly server_id: string | null
  readonly group_id: string | null
  readonly policy: string
}

/** One request. `user_id`: the caller. `sealed`: the arguments as they are shown, until the decision. Times are ISO 8601 UTC. */
export interface ApprovalRow {
  readonly id: string
  readonly user_id: string
  readonly decider_id: string
  readonly server_id: string
  readonly who: 'caller' | 'owner'
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
}

/** The tables of this plugin. */
export interface ApprovalTables {
  policy: PolicyRow
  approval: ApprovalRow
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
