import type { Migration } from 'patchbay/contract'

/** `issuer_changed`, `resource_changed`: the server has another issuer or address now, so the tokens are not used any more. */
export type CredentialState = 'active' | 'sign_in_needed' | 'refused' | 'issuer_changed' | 'resource_changed'

/** A person's sign-in at one server. `sealed`: the tokens and the client, as JSON. Times are ISO 8601 UTC. */
export interface CredentialRow {
  readonly id: string
  readonly user_id: string
  readonly server_id: string
  readonly issuer: string
  readonly resource: string
  readonly client_id: string
  readonly scopes_asked: string
  readonly scopes: string
  readonly state: CredentialState
  readonly version: number
  readonly expires_at: string | null
  /** When it is refreshed; null: it cannot be. */
  readonly refresh_at: string | null
  readonly created_at: string
  readonly last_used_at: string | null
  readonly sealed: string | null
}

/** The hub's client at one issuer, for all users. `sealed`: its secret. `user_id` is null. */
export interface RegistrationRow {
  readonly id: string
  readonly user_id: string | null
  readonly issuer: string
  readonly redirect_uri: string
  readonly client_id: string
  readonly method: string
  readonly made_at: string
  readonly expires_at: string | null
  readonly sealed: string | null
}

/**
 * The tokens of a sign-in, by its id, for the request that takes them back. It refers to no user and no server, since it outlives
 * both for a while; `user_id` is null.
 */
export interface HeldTokenRow {
  readonly id: string
  readonly user_id: string | null
  readonly holder: string
  readonly server_id: string
  readonly tries: number
  /** When they are taken back; null while the sign-in is there. */
  readonly next_at: string | null
  readonly sealed: string | null
}

/** The tables of this plugin. */
export interface OauthTables {
  credential: CredentialRow
  registration: RegistrationRow
  held_token: HeldTokenRow
}

/** Makes the tables. */
export const first: Migration = async db => {
  await db.schema
    .createTable('credential')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('server_id', 'text', column => column.notNull().references('server.id').onDelete('cascade'))
    .addColumn('issuer', 'text', column => column.notNull())
    .addColumn('resource', 'text', column => column.notNull())
    .addColumn('client_id', 'text', column => column.notNull())
    .addColumn('scopes_asked', 'text', column => column.notNull())
    .addColumn('scopes', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('version', 'integer', column => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('refresh_at', 'text')
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('last_used_at', 'text')
    .addColumn('sealed', 'text')
    .execute()
  await db.schema.createIndex('credential_place').on('credential').columns(['user_id', 'server_id']).unique().execute()
  await db.schema.createIndex('credential_due').on('credential').columns(['refresh_at']).execute()
  await db.schema
    .createTable('registration')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.references('user.id').onDelete('cascade'))
    .addColumn('issuer', 'text', column => column.notNull())
    .addColumn('redirect_uri', 'text', column => column.notNull())
    .addColumn('client_id', 'text', column => column.notNull())
    .addColumn('method', 'text', column => column.notNull())
    .addColumn('made_at', 'text', column => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('sealed', 'text')
    .execute()
  await db.schema
    .createIndex('registration_place')
    .on('registration')
    .columns(['issuer', 'redirect_uri'])
    .unique()
    .execute()
}

/** Makes the table of tokens to take back. */
export const heldTokens: Migration = async db => {
  await db.schema
    .createTable('held_token')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.references('user.id').onDelete('cascade'))
    .addColumn('holder', 'text', column => column.notNull())
    .addColumn('server_id', 'text', column => column.notNull())
    .addColumn('tries', 'integer', column => column.notNull())
    .addColumn('next_at', 'text')
    .addColumn('sealed', 'text')
    .execute()
  for (const column of ['holder', 'server_id', 'next_at'])
    await db.schema.createIndex(`held_token_${column}`).on('held_token').columns([column]).execute()
  await db.schema.createIndex('credential_server').on('credential').columns(['server_id']).execute()
}
