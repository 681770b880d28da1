import type { ErrorCode } from './errors.ts'
import type { JsonObject, JsonValue } from './json.ts'

/** An `admin` may manage all users' servers; a `user` only its own. */
export type Role = 'admin' | 'user'

/** The rights of an access key. `api` includes `api:read`; `mcp` is everything that its owner may use under `/mcp`. */
export type KeyScope = 'api' | 'api:read' | 'mcp' | { readonly groupId: string } | { readonly serverId: string }

/** The way in which an actor authenticated. */
export type Credential =
  | {
      readonly kind: 'session'
      readonly tokenId: string
      /** Id of the sign-in that the token comes from, over all refreshes; its tokens expire together. */
      readonly familyId: string
      /** Time of that sign-in; its tokens are refreshed for 30 days at most. */
      readonly signedInAtMs: number
      readonly expiresAtMs: number
    }
  | {
      readonly kind: 'key'
      readonly keyId: string
      /** As its owner named it. */
      readonly label: string
      readonly scopes: readonly KeyScope[]
      readonly expiresAtMs?: number
      /** Ids of the keys from which it descends, the oldest first; some may be deleted. Absent: a user made it with a sign-in. */
      readonly makers?: readonly string[]
    }
  | {
      /** Issued by a plugin to a client that a user has agreed to. */
      readonly kind: 'grant'
      /** Id of what the user agreed to, over all tokens. */
      readonly grantId: string
      readonly clientId: string
      /** Name of the client, as the user saw it. */
      readonly label: string
      readonly scopes: readonly GrantScope[]
      /** The addresses that the token is for, such as `https://hub.example/mcp/work`; the hub's own is for all below it. Absent: any. */
      readonly resources?: readonly string[]
      /** Absent: what is at the address of the request. */
      readonly target?: GrantTarget
      readonly expiresAtMs: number
    }
  | { readonly kind: 'local'; readonly makers?: readonly string[] }

/** The rights of a client that a user has agreed to: `mcp:tools` includes `mcp:read`, which is everything but calls of tools. */
export type GrantScope = 'mcp:tools' | 'mcp:read'

/** The servers that such a client may use: all that the user owns, those of a group, or one. */
export type GrantTarget = { readonly kind: 'all' } | { readonly kind: 'group' | 'server'; readonly id: string }

/** A user, authenticated by a credential. Rights follow the user's row, never the credential's own claims. */
export interface UserActor {
  readonly kind: 'user'
  readonly userId: string
  readonly name: string
  /** The role in this request: an administrator outside ADMIN_ADDRESSES is a `user`. */
  readonly role: Role
  readonly credential: Credential
  /** Set for an administrator whose request came from outside ADMIN_ADDRESSES. */
  readonly restricted?: true
}

/** The hub itself. `purpose` is written to the audit record in place of a user name. */
export interface SystemActor {
  readonly kind: 'system'
  readonly purpose: string
}

/** On whose behalf something is done. */
export type Actor = UserActor | SystemActor

/** The users who may see and use a server or group besides its owner: none, or all. */
export type Visibility = 'private' | 'public'
/** The name of a transport, as the plugin that contributes it gives it, such as `stdio`. */
export type TransportName = string
/** The place where a record is configured: the settings file, or the database by the API. */
export type Origin = 'file' | 'store'
/** State of the hub's connection to a server. */
export type ConnectionState = 'online' | 'connecting' | 'offline'
/** `auto`: shared, with a dedicated connection for each session to whose client the server sends server requests. */
export type SessionScope = 'auto' | 'shared' | 'per-session' | 'per-user'
/** A server request by the client capability that it needs. */
export type ServerRequestKind = 'sampling' | 'elicitation' | 'roots'

/** The change of one argument of a tool. */
export interface ArgumentOverride {
  /** The value that is always sent, whatever the caller sends; the argument is not in the schema. */
  readonly pin?: JsonValue
  /** Sent when the caller leaves the argument out. */
  readonly default?: JsonValue
  /** Not in the schema, and callers cannot set it. */
  readonly hidden?: boolean
  readonly description?: string
}

/** The owner's changes to one tool of a server; every part is optional. */
export interface ToolOverride {
  readonly enabled?: boolean
  readonly name?: string
  readonly description?: string
  /** By the argument's name. */
  readonly arguments?: Readonly<Record<string, ArgumentOverride>>
}

/** Periodic health checks of a server. */
export interface HealthCheck {
  readonly enabled: boolean
  /** Milliseconds of silence before a check; with `endpoints`, between two checks. */
  readonly interval: number
  /** Timeout of a check, in milliseconds. */
  readonly timeout: number
  /** Failed checks in a row after which the connection counts as lost; 0 counts as 1. */
  readonly retries: number
  /** Paths on the server's origin (OpenAPI: below the address of the API) that must respond with 2xx. */
  readonly endpoints?: { readonly ping?: string; readonly tools?: string }
}

/** The part of a server's configuration that belongs to its transport, validated by that transport's schema. */
export type TransportConfig = JsonObject

/** Everything that can be configured about a server. Durations in milliseconds. */
export interface ServerSettings {
  readonly name: string
  readonly description?: string
  readonly transport: TransportName
  /** True when the configuration named only a URL, so that Streamable HTTP may fall back to SSE. */
  readonly transportInferred?: boolean
  readonly config: TransportConfig
  readonly variables: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  /** From a start to the end of the handshake, at most 10 min. Absent: the hub's default. */
  readonly startTimeoutMs?: number
  /** Longest message of the server, in bytes; 1 to 64 MiB. Absent: 10 MiB. */
  readonly maxResultBytes?: number
  readonly visibility: Visibility
  readonly enabled: boolean
  /** Absent: `auto`. */
  readonly session?: SessionScope
  /** The only era in which the hub talks to the server. Absent: that of each caller, where the server supports it. */
  readonly era?: 'legacy' | 'modern'
  readonly start: 'eager' | 'lazy'
  readonly idleTimeoutMs?: number
  readonly isolate: boolean
  readonly healthCheck: HealthCheck
  /** `callErrors: false`: records of failed calls hold no text of the error. Absent: they do. */
  readonly logging?: { readonly callErrors: false }
  readonly passthroughHeaders: readonly string[]
  /** By the tool's original name. */
  readonly tools: Readonly<Record<string, ToolOverride>>
  /** `off`: only the tools that `tools` switches on are offered, and none that the server adds later. Absent: `on`. */
  readonly toolsDefault?: 'off'
  /** A tool with a changed definition is reported, or blocked until its owner approves it. Default `report`. */
  readonly definitionPolicy?: 'report' | 'pin'
  /** Form in which output schemas are listed. Absent: `loose` for an HTTP API, `strict` for others. */
  readonly outputSchemas?: 'strict' | 'loose' | 'off'
  /** Names of the prompts that are offered, and URIs of the resources and templates. Default `all`. */
  readonly prompts?: 'all' | readonly string[]
  readonly resources?: 'all' | readonly string[]
  /** JSON Pointers into the flat body of the values that are stored sealed, such as `/env/API_KEY`. */
  readonly secrets: readonly string[]
}

/** A server as stored: its settings, its owner, and what keeps it from running. */
export interface ServerRecord
  extends ServerSettings,
    Readonly<Record<'id' | 'ownerId' | 'ownerName' | 'createdAt' | 'updatedAt', string>> {
  readonly origin: Origin
  readonly revision: number
  /** Its owner's account is disabled: the hub does not run it, and nobody else sees it. */
  readonly ownerDisabled?: true
  /** Upper limit on its rights where its owner has more: those of an ordinary user with this network grant. */
  readonly rightsCap?: 'none' | 'proxy'
  /** It came from an account with fewer rights, and is disabled until its configuration is confirmed. */
  readonly awaitsReview?: true
  /** The template that it follows, in the form of the plugin that installs templates. */
  readonly template?: JsonObject
  /** Why the entry is unusable: it stays listed, offline, with this reason. */
  readonly problem?: { readonly code: ErrorCode; readonly message: string; readonly pointer?: string }
}

/** A tool that a group selects, optionally under another name. */
export interface MemberTool {
  readonly name: string
  readonly as?: string
  readonly description?: string
  readonly arguments?: Readonly<Record<string, ArgumentOverride>>
}

/** One server of a group, with what the group selects of it. */
export interface GroupMember {
  readonly serverId: string
  /** As `owner~name`, for responses. */
  readonly serverRef: string
  readonly serverName: string
  readonly alias?: string
  readonly tools: 'all' | readonly MemberTool[]
  readonly prompts: 'all' | readonly string[]
  readonly resources: 'all' | readonly string[]
  /** Prefix that another hub put before the names of the member's tools and prompts, such as `time-`; set by imports only. */
  readonly formerPrefix?: string
}

/** A group with its members, in their order. */
export interface GroupRecord {
  readonly id: string
  readonly ownerId: string
  readonly ownerName: string
  readonly name: string
  readonly description?: string
  readonly visibility: Visibility
  readonly naming: 'auto' | 'prefixed'
  readonly members: readonly GroupMember[]
  readonly resultLimitBytes?: number
  /** Its owner's account is disabled: nobody else sees the group. */
  readonly ownerDisabled?: true
  readonly origin: Origin
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}
