/** A user. Times are ISO 8601 UTC. */
export interface UserTable {
  id: string
  /** Never reused: a process uid may be made of it. */
  number: number
  /** Null for the first row until set-up fills it in. */
  name: string | null
  /** NFKC case-folded name, which must be unique. */
  name_key: string | null
  role: 'admin' | 'user'
  password_hash: string | null
  token_epoch: number
  disabled: number
  must_change_password: number
  /** The most network that the user's servers may have. */
  network_grant: 'none' | 'proxy'
  /** Name of the plugin that checks a second factor at each sign-in; null: the password is enough. */
  second_factor: string | null
  origin: 'file' | 'store'
  revision: number
  created_at: string
  updated_at: string
}

/** An access key; only the hash of its secret is stored. Times are ISO 8601 UTC. */
export interface AccessKeyTable {
  id: string
  owner_id: string
  /** SHA-256 of the secret, hex. */
  hash: string
  label: string
  last4: string
  /** JSON of KeyScope[]. */
  scopes: string
  expires_at: string | null
  last_used_at: string | null
  created_at: string
}

/** Signed-out sign-ins. A row is deleted once all its tokens have expired. */
export interface RevokedTokenTable {
  /** The id of the first token of the sign-in. */
  token_id: string
  expires_at: string
}

/** A sign-in whose tokens are accepted. Times are ISO 8601 UTC. */
export interface SignInTable {
  /** The id of the first token of the sign-in. */
  id: string
  user_id: string
  /** The user's token epoch at the sign-in; another one has ended it. */
  epoch: number
  client_address: string
  /** The client's User-Agent, cut. */
  client: string | null
  created_at: string
  last_used_at: string
  /** When its newest token ends. */
  expires_at: string
}

/** The link with which a user sets a new password, once. */
export interface ResetLinkTable {
  user_id: string
  /** SHA-256 of the token in the link, hex. */
  hash: string
  /** The user's token epoch when it was made; another one has ended it. */
  epoch: number
  expires_at: string
}

/** Open sessions of MCP clients. The row is deleted when the session ends, so that no later process accepts its id. */
export interface ClientSessionTable {
  /** Hash of the session's id. */
  key: string
  /** Updated at most every 30 s. */
  used_at: string
}

/** A team of users. Times are ISO 8601 UTC. */
export interface TeamTable {
  id: string
  name: string
  /** NFKC case-folded name, which must be unique. */
  name_key: string
  created_at: string
  /** The provider of sign-ins by which members are set; null: by administrators. */
  source_provider: string | null
  /** The group there; null exactly where the provider is. */
  source_group: string | null
}

/** A user in a team. */
export interface TeamMemberTable {
  team_id: string
  user_id: string
}

/** A share of an owner: one of server and group, with one of user and team. */
export interface ShareTable {
  id: string
  server_id: string | null
  group_id: string | null
  user_id: string | null
  team_id: string | null
  role: 'use' | 'see' | 'change'
  origin: 'file' | 'store'
  /** The user who shared it; null when its account was deleted, or for the settings file. */
  granted_by: string | null
  created_at: string
}
