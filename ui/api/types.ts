/** Shapes of the hub's answers, as far as the console reads them; the API document has them in full. */

/** `GET /health`. */
export interface Health {
  readonly status: 'ok' | 'degraded' | 'draining'
  readonly version: string
  readonly uptimeMs: number
  readonly servers: ServerCounts
  readonly tools: number
  readonly checks: Readonly<Record<string, string | readonly string[]>>
}

/** Servers by state. */
export interface ServerCounts {
  readonly total: number
  readonly online: number
  readonly connecting: number
  readonly offline: number
}

/** `GET /api/public/info`. */
export interface PublicInfo {
  readonly name: string
  readonly version: string
  readonly baseline: string
  readonly features: Readonly<Record<string, boolean>>
}

/** State of a server's connection. */
export type ServerState = 'online' | 'connecting' | 'offline'

/** `status` of a server; others than its owner get state, since and counts alone. */
export interface ServerStatus {
  readonly state: ServerState
  readonly since: string
  readonly reason?: {
    readonly code: string
    readonly message: string
    readonly hint?: string
    /** Its owner alone has no credential. */
    readonly ofOwner?: true
  }
  readonly attempts?: number
  readonly nextAttemptAt?: string
  /** While an attempt to start it lasts; `line`: the last one of its stderr. */
  readonly starting?: { readonly forMs: number; readonly line?: string }
  readonly transport?: string
  readonly era?: string
  readonly protocolVersion?: string
  readonly serverInfo?: { readonly name?: string; readonly title?: string; readonly version?: string }
  readonly capabilities?: Readonly<Record<string, unknown>>
  readonly counts: { readonly tools: number; readonly prompts: number; readonly resources: number }
  readonly pid?: number
  readonly latencyMs?: { readonly p50: number; readonly p95: number }
  readonly health?: { readonly state: string }
  readonly connections?: Readonly<Record<string, number>>
  readonly session?: { readonly mode: string; readonly kind: string; readonly why?: string }
}

/** A role that a share gives. */
export type ShareRole = 'use' | 'see' | 'change'
/** Role of the reader for a server or group; of administrators always `owner`. */
export type ThingRole = ShareRole | 'owner'

/** The reader's own credential for a server that takes one of each caller. */
export interface OwnCredential {
  readonly state: 'active' | 'sign_in_needed' | 'refused'
  readonly reason?: { readonly code: string; readonly message: string }
  /** The page at which the reader signs in. */
  readonly connectUrl?: string
}

/** A server. The fields of its configuration are there for users with the role `see`. */
export interface ServerRecord {
  readonly role?: ThingRole
  readonly id?: string
  /** `owner~name`; absent for readers with the role `use`. */
  readonly ref?: string
  readonly name: string
  readonly owner: string
  readonly transport: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly status: ServerStatus
  /** Absent where the server asks its callers for nothing. */
  readonly mine?: OwnCredential
  readonly visibility?: 'private' | 'public'
  readonly enabled?: boolean
  readonly origin?: 'api' | 'file' | 'store'
  readonly revision?: number
  readonly createdAt?: string
  readonly updatedAt?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly url?: string
  readonly problem?: { readonly code: string; readonly message: string }
  readonly [field: string]: unknown
}

/** A tool of a server. */
export interface ToolRecord {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly annotations?: {
    readonly title?: string
    readonly readOnlyHint?: boolean
    readonly destructiveHint?: boolean
    readonly idempotentHint?: boolean
    readonly openWorldHint?: boolean
  }
  readonly enabled?: boolean
  readonly [field: string]: unknown
}

/** A group. */
export interface GroupRecord {
  readonly role?: ThingRole
  readonly id: string
  readonly ref: string
  readonly name: string
  readonly owner: string
  readonly description?: string
  readonly visibility: 'private' | 'public'
  readonly naming: 'auto' | 'prefixed'
  readonly instructions?: GroupInstructions
  readonly tags?: readonly string[]
  readonly selector?: GroupSelector
  readonly members: readonly GroupMember[]
  readonly endpoint: string
  readonly status: ServerCounts
  readonly tools: number
  readonly tokens: number
  readonly warnings: readonly GroupWarning[]
  readonly revision: number
  readonly origin?: string
  readonly [field: string]: unknown
}

/** A group's own instructions, beside or instead of its members'. */
export interface GroupInstructions {
  readonly text: string
  readonly members: 'beside' | 'instead'
}

/** Members that an argument chooses from, by its value: `owner~name`. */
export interface GroupSelector {
  readonly argument: string
  readonly members: Readonly<Record<string, string>>
  readonly default?: string
  readonly description?: string
}

/** Restrictions for clients of a group. */
export interface GroupWarning {
  readonly code: string
  /** In English. */
  readonly message: string
  readonly server?: string
  readonly tools?: readonly string[]
  readonly params?: Readonly<Record<string, string | number>>
}

/** A member of a group. */
export interface GroupMember {
  readonly server: string
  readonly alias?: string
  readonly tools: 'all' | readonly (string | { readonly name: string; readonly as?: string })[]
  readonly prompts: 'all' | readonly unknown[]
  readonly resources: 'all' | readonly unknown[]
}

/** Returns `owner~name` of a record that may belong to another user. */
export function refOf(record: { readonly ref?: string; readonly owner: string; readonly name: string }): string {
  return record.ref ?? `${record.owner}~${record.name}`
}
