import type { ErrorCode } from './errors.ts'
import type { JsonObject, JsonValue } from './json.ts'

export type Role = 'admin' | 'user'

/** What an access key opens. `api` includes `api:read`; `mcp` is everything that its owner may use under `/mcp`. */
export type KeyScope = 'api' | 'api:read' | 'mcp' | { readonly groupId: string } | { readonly serverId: string }

export type Credential =
  | {
      readonly kind: 'session'
      readonly tokenId: string
      /** The sign-in that the token goes back to, over all refreshes; they end together. */
      readonly familyId: string
      /** When that sign-in was; its tokens are refreshed for 30 days at most. */
      readonly signedInAtMs: number
      readonly expiresAtMs: number
    }
  | {
      readonly kind: 'key'
      readonly keyId: string
      readonly scopes: readonly KeyScope[]
      readonly expiresAtMs?: number
    }
  | { readonly kind: 'local' }

/** A person, known by a credential. Rights follow the user's row, never the credential's own claims. */
export interface UserActor {
  readonly kind: 'user'
  readonly userId: string
  readonly name: string
  /** What the person may do in this request: an administrator outside ADMIN_ADDRESSES is a `user`. */
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

export type Actor = UserActor | SystemActor

export type Visibility = 'private' | 'public'
export type TransportName = 'stdio' | 'sse' | 'streamable-http' | 'openapi'
export type Origin = 'file' | 'store'
export type ConnectionState = 'online' | 'connecting' | 'offline'
/** `auto`: shared, and a connection of its own for each session whose client the server is seen to ask. */
export type SessionScope = 'auto' | 'shared' | 'per-session' | 'per-user'
/** What a server may ask of a client. */
export type AskCapability = 'sampling' | 'elicitation' | 'roots'

/** What is done with one argument of a tool. */
export interface ArgumentOverride {
  /** The value that is always sent, whatever the caller says; the argument is not in the schema. */
  readonly pin?: JsonValue
  /** Sent where the caller leaves the argument out. */
  readonly default?: JsonValue
  /** Not in the schema, and not the caller's to set. */
  readonly hidden?: boolean
  readonly description?: string
}

/** What the owner changes about one tool of a server; every part is optional. */
export interface ToolOverride {
  readonly enabled?: boolean
  readonly name?: string
  readonly description?: string
  /** By the argument's name. */
  readonly arguments?: Readonly<Record<string, ArgumentOverride>>
}

/** Regular questions whether a server lives. */
export interface HealthCheck {
  readonly enabled: boolean
  /** Milliseconds of silence before a check; where `endpoints` are asked, between two checks. */
  readonly interval: number
  /** Longest wait for an answer, in milliseconds. */
  readonly timeout: number
  /** Failed checks in a row after which the connection counts as lost; 0 counts as 1. */
  readonly retries: number
  /** Paths on the server's origin (OpenAPI: below the address of the API) that must answer with 2xx. */
  readonly endpoints?: { readonly ping?: string; readonly tools?: string }
}

/** The part of a server's configuration that belongs to its transport, validated by that transport's schema. */
export type TransportConfig = JsonObject

/** Everything that can be configured about a server. Durations in milliseconds. */
export interface ServerSettings {
  readonly name: string
  readonly description?: string
  readonly transport: TransportName
  /** True when the configuration named only a URL, so that streamable HTTP may fall back to SSE. */
  readonly transportInferred?: boolean
  readonly config: TransportConfig
  readonly variables: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  /** Longest message of the server, in bytes; 1 to 64 MiB. Absent: 10 MiB. */
  readonly maxResultBytes?: number
  readonly visibility: Visibility
  readonly enabled: boolean
  /** Absent: `auto`. */
  readonly session?: SessionScope
  /** The one era that the server is spoken to in. Absent: that of each caller, where the server speaks it. */
  readonly era?: 'legacy' | 'modern'
  readonly start: 'eager' | 'lazy'
  readonly idleTimeoutMs?: number
  readonly isolate: boolean
  readonly healthCheck: HealthCheck
  readonly passthroughHeaders: readonly string[]
  /** By the tool's original name. */
  readonly tools: Readonly<Record<string, ToolOverride>>
  /** What a tool with a changed definition is: reported, or blocked until its owner approves it. Default `report`. */
  readonly definitionPolicy?: 'report' | 'pin'
  /** Names of the prompts that are offered, and URIs of the resources and templates. Default `all`. */
  readonly prompts?: 'all' | readonly string[]
  readonly resources?: 'all' | readonly string[]
  /** JSON Pointers into the flat body of the values that are kept sealed, such as `/env/API_KEY`. */
  readonly secrets: readonly string[]
  /** It runs with the rights of an ordinary user, whatever its owner's: it was configured from outside ADMIN_ADDRESSES. */
  readonly confined?: true
}

export interface ServerRecord extends ServerSettings {
  readonly id: string
  readonly ownerId: string
  readonly ownerName: string
  readonly origin: Origin
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
  /** The account of its owner is disabled: the hub runs nothing of it, and nobody else sees it. */
  readonly ownerDisabled?: true
  /** The most that it may do where its owner may do more: what an ordinary user with this network grant may. */
  readonly rightsCap?: 'none' | 'proxy'
  /** It came from an account with fewer rights, and is switched off until its configuration is confirmed. */
  readonly awaitsReview?: true
  /** Why the entry cannot be used at all: it stays listed, offline, with this reason. */
  readonly problem?: { readonly code: ErrorCode; readonly message: string; readonly pointer?: string }
}

export interface MemberTool {
  readonly name: string
  readonly as?: string
  readonly description?: string
  readonly arguments?: Readonly<Record<string, ArgumentOverride>>
}

export interface GroupMember {
  readonly serverId: string
  /** As `owner~name`, for answers. */
  readonly serverRef: string
  readonly serverName: string
  readonly alias?: string
  readonly tools: 'all' | readonly MemberTool[]
  readonly prompts: 'all' | readonly string[]
  readonly resources: 'all' | readonly string[]
}

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
  /** The account of its owner is disabled: nobody else sees the group. */
  readonly ownerDisabled?: true
  readonly origin: Origin
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** One finished tools/call. Never holds arguments or results. */
export interface ToolCallRecord {
  readonly at: string
  readonly requestId: string
  readonly userId: string
  readonly userName: string
  readonly ownerId: string
  readonly serverId: string
  readonly server: string
  readonly group: string
  readonly tool: string
  readonly durationMs: number
  /** `success`; `error` when the tool said isError or the server answered an error; else the hub's own code. */
  readonly status: string
}

export type LogLevel = 'ERROR' | 'WARN' | 'INFO' | 'DEBUG' | 'TRACE'

/** The structured log record of the specification. `duration` in milliseconds. */
export interface LogRecord {
  readonly timestamp: string
  readonly level: LogLevel
  readonly message: string
  readonly server?: string
  readonly tool?: string
  readonly duration?: number
  readonly status?: string
  readonly requestId?: string
  readonly userId?: string
  /** Who may read it besides administrators. Not part of the written line. */
  readonly ownerId?: string
  readonly [field: string]: unknown
}
