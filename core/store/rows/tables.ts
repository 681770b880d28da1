import type { Tables } from '../tables.ts'

/** Paging of one table. */
export interface StoredTable {
  readonly name: keyof Tables
  /** The primary key: pages are read in its order. */
  readonly key: readonly string[]
  /** Rows read at a time. Default 200. */
  readonly page?: number
  /** A column that the database numbers itself; a restore numbers its rows again. */
  readonly numbered?: string
  /** The column of the user's id in a table of which work on copies takes all rows of a user. */
  readonly ownedBy?: string
  /** Content in bytes: it is only ever inserted, and goes with the row that it belongs to. */
  readonly content?: true
}

/** The tables of a backup. One that refers to another comes after it. */
export const BACKED_UP: readonly StoredTable[] = [
  { name: 'user', key: ['id'] },
  { name: 'setting', key: ['scope', 'key'] },
  { name: 'access_key', key: ['id'] },
  { name: 'server', key: ['id'], page: 20 },
  { name: 'openapi_document', key: ['id'] },
  { name: 'openapi_document_part', key: ['document_id', 'part'], page: 1, content: true },
  { name: 'tool_definition', key: ['server_id', 'tool'] },
  { name: 'server_group', key: ['id'] },
  { name: 'group_member', key: ['group_id', 'server_id'] },
  { name: 'group_lost_member', key: ['group_id', 'server_name'] },
  { name: 'group_former_path', key: ['group_id', 'path_key'] },
  { name: 'team', key: ['id'] },
  { name: 'team_member', key: ['team_id', 'user_id'] },
  { name: 'share', key: ['id'] },
  { name: 'import_run', key: ['id'], ownedBy: 'owner_id' },
  { name: 'owned_setting', key: ['id'], page: 20 },
  { name: 'alert_silence', key: ['id'], ownedBy: 'owner_id' },
  { name: 'alert_instance', key: ['rule_id', 'subject'] },
  { name: 'alert_incident', key: ['id'] },
  { name: 'alert_delivery', key: ['id'] },
  { name: 'audit', key: ['id'], numbered: 'id' },
  { name: 'waiting_row', key: ['table_name', 'position'], page: 20 },
]

/**
 * Tables that are read again after a restore, or end with it. A restore empties them; a move to another database copies them.
 */
export const NOT_BACKED_UP: readonly StoredTable[] = [
  { name: 'revoked_token', key: ['token_id'] },
  { name: 'sign_in', key: ['id'] },
  { name: 'reset_link', key: ['user_id'] },
  { name: 'client_session', key: ['key'] },
  { name: 'server_catalog_part', key: ['server_id', 'list_id', 'part'], page: 10 },
  { name: 'server_catalog', key: ['server_id'], page: 10 },
  { name: 'server_era', key: ['server_id'] },
  { name: 'server_asking', key: ['server_id'], page: 20 },
]
