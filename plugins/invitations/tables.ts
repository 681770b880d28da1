import type { Migration } from 'patchbay/contract'
import type { InvitedRole } from './types.ts'

/** An invitation of `user_id`. `things`: JSON. `hash`: of the token. Times are ISO 8601 UTC. */
export interface InvitationRow {
  readonly id: string
  readonly user_id: string
  readonly hash: string
  readonly things: string
  readonly role: InvitedRole
  readonly uses: number
  readonly used: number
  readonly created_at: string
  readonly expires_at: string
}

/** A user who accepted an invitation. `done` is 0 until everything was shared. */
export interface AcceptanceRow {
  readonly invitation_id: string
  readonly user_id: string
  readonly done: number
  readonly created_at: string
}

/** The tables of this plugin. */
export interface InvitationTables {
  invitation: InvitationRow
  acceptance: AcceptanceRow
}

/** Makes the tables. */
export const first: Migration = async db => {
  await db.schema
    .createTable('invitation')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('hash', 'text', column => column.notNull().unique())
    .addColumn('things', 'text', column => column.notNull())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('uses', 'integer', column => column.notNull())
    .addColumn('used', 'integer', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('expires_at', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('invitation_user').on('invitation').column('user_id').execute()
  await db.schema
    .createTable('acceptance')
    .addColumn('invitation_id', 'text', column => column.notNull())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('done', 'integer', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('acceptance_once', ['invitation_id', 'user_id'])
    .execute()
}
