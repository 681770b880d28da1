import type { GrantScope, Migration, PluginTables } from 'patchbay/contract'

/** A grant: one user lets one client in. Times are ISO 8601 UTC. */
export interface GrantRow {
  id: string
  user_id: string
  client_id: string
  client_name: string
  client_kind: ClientKind
  /** The client's method of authentication at `/token`. */
  client_method: ClientMethod
  redirect_host: string
  /** Address of the hub when it was made, which is the issuer of its tokens. */
  base: string
  resource: string
  target: 'all' | 'group' | 'server'
  group_id: string | null
  server_id: string | null
  scopes: string
  /** The user's epoch when it was made. */
  epoch: number
  /** Number of the refresh token that is valid; 0 until the code is redeemed. */
  generation: number
  generation_at: string
  created_at: string
  last_used_at: string
  expires_at: string
}

/** An authorization code, kept a while after its use so that a second use is seen. */
export interface CodeRow {
  hash: string
  grant_id: string
  redirect_uri: string
  challenge: string
  expires_at: string
  used_at: string | null
}

/** A client that an administrator has entered. */
export interface ListedRow {
  id: string
  name: string
  redirect_uris: string
  method: ClientMethod
  secret_hash: string | null
  created_at: string
}

/** The tables of the plugin. */
export interface OAuthTables {
  grants: GrantRow
  codes: CodeRow
  /** Requests that somebody has decided. */
  decisions: { request: string; expires_at: string }
  clients: ListedRow
  /** Clients that may not sign in, by the hash of their id. */
  blocks: { hash: string; client_id: string; name: string; created_at: string }
}

/** The origin of what the hub knows about a client. */
export type ClientKind = 'document' | 'registered' | 'listed'
/** A method of authentication of clients at `/token`. */
export type ClientMethod = 'none' | 'client_secret_post' | 'client_secret_basic' | 'private_key_jwt'
/** The tables, as the parts of the plugin use them. */
export type Tables = PluginTables<OAuthTables>

/** The first form of the tables. */
export const first: Migration = async db => {
  await db.schema
    .createTable('grants')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('client_id', 'text', column => column.notNull())
    .addColumn('client_name', 'text', column => column.notNull())
    .addColumn('client_kind', 'text', column => column.notNull())
    .addColumn('client_method', 'text', column => column.notNull())
    .addColumn('redirect_host', 'text', column => column.notNull())
    .addColumn('base', 'text', column => column.notNull())
    .addColumn('resource', 'text', column => column.notNull())
    .addColumn('target', 'text', column => column.notNull())
    .addColumn('group_id', 'text', column => column.references('server_group.id').onDelete('cascade'))
    .addColumn('server_id', 'text', column => column.references('server.id').onDelete('cascade'))
    .addColumn('scopes', 'text', column => column.notNull())
    .addColumn('epoch', 'integer', column => column.notNull())
    .addColumn('generation', 'integer', column => column.notNull())
    .addColumn('generation_at', 'text', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('last_used_at', 'text', column => column.notNull())
    .addColumn('expires_at', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('grants_user').on('grants').column('user_id').execute()
  await db.schema
    .createTable('codes')
    .addColumn('hash', 'text', column => column.primaryKey())
    .addColumn('grant_id', 'text', column => column.notNull())
    .addColumn('redirect_uri', 'text', column => column.notNull())
    .addColumn('challenge', 'text', column => column.notNull())
    .addColumn('expires_at', 'text', column => column.notNull())
    .addColumn('used_at', 'text')
    .execute()
  await db.schema
    .createTable('decisions')
    .addColumn('request', 'text', column => column.primaryKey())
    .addColumn('expires_at', 'text', column => column.notNull())
    .execute()
  await db.schema
    .createTable('clients')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('redirect_uris', 'text', column => column.notNull())
    .addColumn('method', 'text', column => column.notNull())
    .addColumn('secret_hash', 'text')
    .addColumn('created_at', 'text', column => column.notNull())
    .execute()
  await db.schema
    .createTable('blocks')
    .addColumn('hash', 'text', column => column.primaryKey())
    .addColumn('client_id', 'text', column => column.notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .execute()
}

/** Scopes as they are kept and sent. */
export function scopesOf(text: string): readonly GrantScope[] {
  return text.split(' ').filter((scope): scope is GrantScope => scope === 'mcp:tools' || scope === 'mcp:read')
}
