import type { Selectable } from 'kysely'
import type { JsonObject } from '../contract/json.ts'
import type { KeyScope, Role, ServerRecord, ServerSettings } from '../contract/records.ts'
import type { AccessKeyTable, UserTable } from '../store/people-tables.ts'
import type { ServerTable } from '../store/tables.ts'
import type { KeyRecord, UserRecord } from './api.ts'

/** The owner's columns, joined from the user table. */
export interface OwnerColumns {
  readonly owner_name: string | null
  readonly owner_key: string | null
  readonly owner_number: number
  readonly owner_role: Role
  readonly owner_network: UserTable['network_grant']
  readonly owner_disabled: number
}

/** The joined columns of the user table. */
export const OWNER_COLUMNS = [
  'user.name as owner_name',
  'user.name_key as owner_key',
  'user.number as owner_number',
  'user.role as owner_role',
  'user.network_grant as owner_network',
  'user.disabled as owner_disabled',
] as const

/** A server's row with its owner's columns. */
export type ServerRow = Selectable<ServerTable> & OwnerColumns

/** The source of an entry in the settings file. */
export interface FileOrigin {
  /** The owner as written in the file; absent for a plain entry, which belongs to the first user. */
  readonly owner?: string
}

/** Origin of a server, as stored beside its settings. */
export interface StoredOrigin {
  readonly file?: FileOrigin | undefined
  readonly template?: JsonObject | undefined
}

/** The JSON in `server.config`: the settings without those that have their own columns. */
type StoredConfig = Omit<ServerSettings, 'name' | 'transport' | 'visibility' | 'enabled'> & {
  readonly file?: FileOrigin
  readonly template?: JsonObject
}

/** An owner's display name. The first user has no name until set-up; real names cannot contain `#`. */
export function ownerName(row: Pick<OwnerColumns, 'owner_name' | 'owner_number'>): string {
  return row.owner_name ?? `#${row.owner_number}`
}

/** The record of a row; secrets in it stay sealed. */
export function serverRecord(row: ServerRow): ServerRecord {
  const { file: _, ...config } = storedConfig(row)
  return {
    ...config,
    name: row.name,
    transport: row.transport as ServerRecord['transport'],
    visibility: row.visibility,
    enabled: row.enabled === 1,
    id: row.id,
    ownerId: row.owner_id,
    ownerName: ownerName(row),
    origin: row.origin,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.owner_disabled === 1 ? { ownerDisabled: true } : {}),
    ...(row.rights_cap === null ? {} : { rightsCap: row.rights_cap }),
    ...(row.awaits_review === 1 ? { awaitsReview: true } : {}),
    ...(row.problem === null ? {} : { problem: JSON.parse(row.problem) as NonNullable<ServerRecord['problem']> }),
  }
}

/** Absent for servers that do not come from the settings file. */
export function fileOrigin(row: Pick<ServerTable, 'config'>): FileOrigin | undefined {
  return storedConfig(row).file
}

function storedConfig(row: Pick<ServerTable, 'config'>): StoredConfig {
  return JSON.parse(row.config) as StoredConfig
}

/** Origin of a server: the settings file, a template, or neither. */
export function storedOrigin(row: Pick<ServerTable, 'config'>): StoredOrigin {
  const { file, template } = storedConfig(row)
  return { file, template }
}

/** The columns for settings, whose secrets must already be encrypted. */
export function serverColumns(
  settings: ServerSettings,
  { file, template }: StoredOrigin = {},
): Pick<ServerTable, 'name' | 'transport' | 'config' | 'visibility' | 'enabled'> {
  const { name, transport, visibility, enabled, ...config } = settings
  const stored: StoredConfig = { ...config, ...(file ? { file } : {}), ...(template ? { template } : {}) }
  return { name, transport, config: JSON.stringify(stored), visibility, enabled: enabled ? 1 : 0 }
}

/** The record of a row, without the password hash. */
export function userRecord(row: UserTable): UserRecord {
  return {
    id: row.id,
    number: row.number,
    name: row.name ?? `#${row.number}`,
    role: row.role,
    disabled: row.disabled === 1,
    mustChangePassword: row.must_change_password === 1,
    grants: { network: row.network_grant },
    tokenEpoch: row.token_epoch,
    secondFactor: row.second_factor,
    origin: row.origin,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The record of a row, without the hash of the secret. */
export function keyRecord(row: AccessKeyTable): KeyRecord {
  return {
    id: row.id,
    ownerId: row.owner_id,
    label: row.label,
    last4: row.last4,
    ...readReach(row.scopes),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
    createdAt: row.created_at,
  }
}

/** The scopes of a key and the keys from which it descends, as the column `scopes` has them. */
export function storedReach({ scopes, makers = [] }: Pick<KeyRecord, 'scopes' | 'makers'>): string {
  return JSON.stringify(makers.length === 0 ? scopes : [...scopes, { makers }])
}

function readReach(text: string): Pick<KeyRecord, 'scopes' | 'makers'> {
  const stored = JSON.parse(text) as (KeyScope | Required<Pick<KeyRecord, 'makers'>>)[]
  const scopes = stored.filter(one => typeof one === 'string' || !('makers' in one)) as KeyScope[]
  const last = stored.at(-1)
  return typeof last === 'object' && 'makers' in last ? { scopes, makers: last.makers } : { scopes }
}

/** A row of the audit log for the API. */
export function auditItem(row: {
  id: number | string
  at: string
  user_id: string | null
  user_name: string
  action: string
  target: string
  request_id: string | null
  client_address: string | null
  detail: string
}): JsonObject {
  return {
    id: Number(row.id),
    at: row.at,
    user: row.user_name,
    userId: row.user_id,
    action: row.action,
    target: row.target,
    requestId: row.request_id,
    address: row.client_address,
    detail: JSON.parse(row.detail) as JsonObject,
  }
}
