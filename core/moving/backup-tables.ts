import type { Tables } from '../store/tables.ts'

/** How one table is read for a backup. */
export interface BackedUpTable {
  readonly name: keyof Tables
  /** The primary key: pages are read in its order. */
  readonly key: readonly string[]
  /** Rows read at a time. Default 200. */
  readonly page?: number
  /** A column that the database numbers itself, and anew at a restore. */
  readonly numbered?: string
}

/** The tables of a backup. One that refers to another comes after it. */
export const BACKED_UP: readonly BackedUpTable[] = [
  { name: 'user', key: ['id'] },
  { name: 'setting', key: ['scope', 'key'] },
  { name: 'access_key', key: ['id'] },
  { name: 'server', key: ['id'], page: 20 },
  { name: 'openapi_document', key: ['id'] },
  { name: 'openapi_document_part', key: ['document_id', 'part'], page: 1 },
  { name: 'tool_definition', key: ['server_id', 'tool'] },
  { name: 'server_group', key: ['id'] },
  { name: 'group_member', key: ['group_id', 'server_id'] },
  { name: 'group_lost_member', key: ['group_id', 'server_name'] },
  { name: 'group_former_path', key: ['group_id', 'path_key'] },
  { name: 'import_run', key: ['id'] },
  { name: 'owned_setting', key: ['id'], page: 20 },
  { name: 'alert_silence', key: ['id'] },
  { name: 'alert_instance', key: ['rule_id', 'subject'] },
  { name: 'alert_incident', key: ['id'] },
  { name: 'alert_delivery', key: ['id'] },
  { name: 'audit', key: ['id'], numbered: 'id' },
]

/** What is read anew after a restore, or has ended with it; emptied by one. */
export const NOT_BACKED_UP: readonly (keyof Tables)[] = [
  'revoked_token',
  'client_session',
  'server_catalog_part',
  'server_catalog',
  'server_era',
  'server_asking',
]
