import type { Migration, PluginTables } from 'patchbay/contract'

/** An authenticator app of a user. Times are ISO 8601 UTC. */
export interface FactorRow {
  id: string
  user_id: string
  kind: 'totp'
  label: string
  /** The sealed secret. */
  sealed: string
  /** 1 once a code of it was entered. */
  confirmed: number
  /** The step of the last code that counted; no code up to it counts again. */
  last_step: number
  created_at: string
  last_used_at: string | null
}

/** A passkey of a user. */
export interface PasskeyRow {
  id: string
  user_id: string
  label: string
  /** The id that it has in browsers, base64url. */
  credential_id: string
  /** The host name for which it was made. */
  host: string
  /** COSE, base64url. */
  public_key: string
  /** A number up to 2³² as text, since an integer of PostgreSQL ends at half of it. */
  counter: string
  /** A JSON array, of hints for browsers. */
  transports: string
  created_at: string
  last_used_at: string | null
}

/** A recovery code; only its hash is stored. */
export interface RecoveryCodeRow {
  id: string
  user_id: string
  hash: string
}

/** An account at a provider, with which a user signs in. */
export interface IdentityRow {
  id: string
  user_id: string
  /** Id of the provider. */
  provider: string
  issuer: string
  subject: string
  /** As the provider said last; for people alone. */
  email: string | null
  created_at: string
  last_used_at: string | null
}

/** A proof that a user was asked for. */
export interface TicketRow {
  id: string
  user_id: string
  tries: number
  /** 1 once it was answered rightly. */
  used: number
  expires_at: string
}

/** The tables of the plugin. */
export interface SignInTables {
  factors: FactorRow
  passkeys: PasskeyRow
  recovery_codes: RecoveryCodeRow
  tickets: TicketRow
  identities: IdentityRow
}

/** The tables, as the parts of the plugin use them. */
export type Tables = PluginTables<SignInTables>

/** The first form of the tables. */
export const first: Migration = async db => {
  await db.schema
    .createTable('factors')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('label', 'text', column => column.notNull())
    .addColumn('sealed', 'text', column => column.notNull())
    .addColumn('confirmed', 'integer', column => column.notNull())
    .addColumn('last_step', 'integer', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('last_used_at', 'text')
    .execute()
  await db.schema.createIndex('factors_user').on('factors').column('user_id').execute()
  await db.schema
    .createTable('recovery_codes')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('hash', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('recovery_codes_user').on('recovery_codes').column('user_id').execute()
  await db.schema
    .createTable('tickets')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('tries', 'integer', column => column.notNull())
    .addColumn('used', 'integer', column => column.notNull())
    .addColumn('expires_at', 'text', column => column.notNull())
    .execute()
}

/** Accounts at providers. */
export const identities: Migration = async db => {
  await db.schema
    .createTable('identities')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('provider', 'text', column => column.notNull())
    .addColumn('issuer', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('email', 'text')
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('last_used_at', 'text')
    .execute()
  await db.schema.createIndex('identities_subject').on('identities').columns(['issuer', 'subject']).unique().execute()
  await db.schema.createIndex('identities_user').on('identities').column('user_id').execute()
}

/** Passkeys. */
export const passkeys: Migration = async db => {
  await db.schema
    .createTable('passkeys')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('user_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('label', 'text', column => column.notNull())
    .addColumn('credential_id', 'text', column => column.notNull())
    .addColumn('host', 'text', column => column.notNull())
    .addColumn('public_key', 'text', column => column.notNull())
    .addColumn('counter', 'text', column => column.notNull())
    .addColumn('transports', 'text', column => column.notNull())
    .addColumn('created_at', 'text', column => column.notNull())
    .addColumn('last_used_at', 'text')
    .execute()
  await db.schema.createIndex('passkeys_credential').on('passkeys').column('credential_id').unique().execute()
  await db.schema.createIndex('passkeys_user').on('passkeys').column('user_id').execute()
}
