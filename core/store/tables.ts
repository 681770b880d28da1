import type { Generated } from 'kysely'
import type { AlertDeliveryTable, AlertIncidentTable, AlertInstanceTable, AlertSilenceTable } from './alert-tables.ts'
import type {
  AccessKeyTable,
  ClientSessionTable,
  ResetLinkTable,
  RevokedTokenTable,
  ShareTable,
  SignInTable,
  TeamMemberTable,
  TeamTable,
  UserTable,
} from './people-tables.ts'

/** Times are ISO 8601 UTC text of fixed width, JSON is text, booleans are 0 and 1: the same in SQLite and PostgreSQL. */
export interface Tables {
  user: UserTable
  server: ServerTable
  openapi_document: OpenapiDocumentTable
  openapi_document_part: OpenapiDocumentPartTable
  server_group: GroupTable
  group_member: GroupMemberTable
  group_lost_member: GroupLostMemberTable
  setting: SettingTable
  access_key: AccessKeyTable
  revoked_token: RevokedTokenTable
  sign_in: SignInTable
  reset_link: ResetLinkTable
  server_catalog: ServerCatalogTable
  server_catalog_part: ServerCatalogPartTable
  server_era: ServerEraTable
  server_asking: ServerAskingTable
  tool_definition: ToolDefinitionTable
  client_session: ClientSessionTable
  audit: AuditTable
  owned_setting: OwnedSettingTable
  alert_silence: AlertSilenceTable
  alert_instance: AlertInstanceTable
  alert_incident: AlertIncidentTable
  alert_delivery: AlertDeliveryTable
  import_run: ImportRunTable
  group_former_path: GroupFormerPathTable
  waiting_row: WaitingRowTable
  team: TeamTable
  team_member: TeamMemberTable
  share: ShareTable
}

/** A server with its configuration. Times are ISO 8601 UTC. */
export interface ServerTable {
  id: string
  owner_id: string
  name: string
  name_key: string
  transport: string
  /**
   * JSON of the ServerSettings without name, transport, visibility and enabled; secrets inside are sealed. An inline
   * OpenAPI document is in `openapi_document`.
   */
  config: string
  visibility: 'private' | 'public'
  enabled: number
  origin: 'file' | 'store'
  /** JSON {code, message, pointer?} of an entry that is invalid. */
  problem: string | null
  /** The server's rights where they are less than its owner's; null: the same as its owner's. */
  rights_cap: 'none' | 'proxy' | null
  /** 1 until the new owner has confirmed the configuration that came with the server; it stays disabled until then. */
  awaits_review: Generated<number>
  revision: number
  created_at: string
  updated_at: string
}

/** The inline OpenAPI document of a server. Read when the server starts or on request, never for lists. */
export interface OpenapiDocumentTable {
  id: string
  /** Null until the server is saved to which it belongs. */
  server_id: string | null
  /** SHA-256 of its text, in hex. */
  sha256: string
  bytes: number
}

/** The text of a document in UTF-8, in parts that are counted from 0. */
export interface OpenapiDocumentPartTable {
  document_id: string
  part: number
  content: Uint8Array
}

/** A group without its members. Times are ISO 8601 UTC. */
export interface GroupTable {
  id: string
  owner_id: string
  name: string
  name_key: string
  description: string | null
  visibility: 'private' | 'public'
  naming: 'auto' | 'prefixed'
  result_limit_bytes: number | null
  /** JSON of `GroupInstructions`. */
  instructions: string | null
  /** JSON array. */
  tags: string | null
  /** JSON of `GroupSelector`; its values are those of the members. */
  selector: string | null
  origin: 'file' | 'store'
  revision: number
  created_at: string
  updated_at: string
}

/** A server in a group; `position` orders the members. */
export interface GroupMemberTable {
  group_id: string
  server_id: string
  position: number
  alias: string | null
  /** JSON: "all" or an array. */
  tools: string
  prompts: string
  resources: string
  /** Prefix that another hub put before the names of the member's tools and prompts; set by imports only. */
  former_prefix: string | null
  /** The value of the group's selector that chooses the member; null: an ordinary member. */
  selected_by: string | null
}

/** A member removed with its server; kept until the group's members are next replaced. */
export interface GroupLostMemberTable {
  group_id: string
  /** Name as shown to the group's owner: with its owner's name if that was another user. */
  server_name: string
  lost_at: string
}

/** A setting of the system or of one user. */
export interface SettingTable {
  /** `system`, or a user id. */
  scope: string
  key: string
  /** JSON text, or a sealed text when `secret`. */
  value: string
  secret: number
  updated_at: string
}

/** The last lists of each server, so that the tools of a sleeping or starting server stay listed. */
export interface ServerCatalogTable {
  server_id: string
  /** Hash of the configuration that the lists were read with. */
  config_hash: string
  /** JSON of everything but the lists, and the `list_id` of each list. */
  catalog: string
  read_at: string
}

/** Items of one list, one per line: `fingerprint hash json`. */
export interface ServerCatalogPartTable {
  server_id: string
  list_id: string
  /** From 0, without gaps. */
  part: number
  items: string
}

/** Hashes of each tool's definition, so that a change is noticed across restarts. */
export interface ToolDefinitionTable {
  server_id: string
  /** The upstream's own name. */
  tool: string
  /** Hash of the definition that was last seen. */
  seen_hash: string
  /** Hash of the definition that was approved, or of the first one. */
  approved_hash: string
  /** When `seen_hash` was first seen. */
  seen_at: string
}

/** The era of MCP that a probe found, and the configuration and credentials of that probe. */
export interface ServerEraTable {
  server_id: string
  era: 'legacy' | 'modern'
  config_hash: string
  /** SHA-256 of the headers that were sent, including those of plugins. */
  credential_hash: string
  probed_at: string
}

/** The requests that a server sends to clients. Valid for this configuration and server version. */
export interface ServerAskingTable {
  server_id: string
  config_hash: string
  /** The server's version and the protocol version that it negotiated with the hub. */
  version: string
  /** JSON of `ServerRequestKind[]`. */
  requests: string
  /** JSON of the names of tools that it lists only for clients with these capabilities. */
  tools: string
  seen_at: string
}

/** One audit record. */
export interface AuditTable {
  id: Generated<number>
  at: string
  /** Null for the hub itself. */
  user_id: string | null
  user_name: string
  action: string
  /** Owner of the target; decides which entries an ordinary user may see. */
  owner_id: string | null
  target: string
  request_id: string | null
  /** Null if no request was the cause, and in entries from before this column existed. */
  client_address: string | null
  /** JSON, without secrets. */
  detail: string
}

/** A record of a kind that a feature or a plugin defines. Times are ISO 8601 UTC. */
export interface OwnedSettingTable {
  id: string
  owner_id: string
  /** Name of the kind; `{plugin}.{kind}` for one of a plugin. */
  kind: string
  name: string
  name_key: string
  /** JSON of the parsed body, without secrets. */
  body: string
  /** Sealed secrets, as the kind says: a text, or JSON of texts by pointer. */
  secrets: string | null
  /** `file`: held by the settings file. */
  origin: 'api' | 'file'
  /** 1: it has the rights of an ordinary user, whoever its owner is. */
  limited: number
  revision: number
  created_at: string
  updated_at: string
}

/** One import, kept for seven days so that it can be taken back. */
export interface ImportRunTable {
  id: string
  /** Id of the user who imported. */
  owner_id: string
  /** Kind of the imported file. */
  source: string
  /** JSON of MadeItem[]. */
  made: string
  created_at: string
}

/** A name under which another hub served a group; its owner's clients may keep using it. */
export interface GroupFormerPathTable {
  group_id: string
  /** Case-folded. */
  path_key: string
}

/** A row of a plugin's table that waits until the plugin starts and has its tables: it came with a restore or a move. */
export interface WaitingRowTable {
  /** The whole name, such as `plugin_library__book`. */
  table_name: string
  /** Place among the rows of the table, from 1. */
  position: number
  /** JSON of the row. */
  content: string
}
