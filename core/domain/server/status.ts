import type { ErrorCode } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ConnectionState, ServerRequestKind, SessionScope, TransportName } from '../../contract/records.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'

/** Result of the regular checks (`healthCheck`) of a server. */
export interface ServerHealth {
  /**
   * `off`: checks are disabled; `unknown`: none was made since the last start; `failing`: the last check failed, or the server
   * is offline by a fault.
   */
  readonly state: 'off' | 'unknown' | 'healthy' | 'failing'
  /** Failed checks in a row. */
  readonly misses?: number
  /** Paths of `healthCheck.endpoints` that the server does not have, each with its status; it is checked without them. */
  readonly missingPaths?: readonly string[]
  readonly lastCheck?: HealthCheckResult & {
    readonly error?: { readonly code: ErrorCode; readonly message: string }
  }
}

/** One finished check. `at`: when it ended, ISO 8601 UTC. */
export interface HealthCheckResult {
  readonly at: string
  readonly ok: boolean
  readonly durationMs: number
}

/** Sharing of a server's connections, with the reason in `why`. */
export interface ServerSession {
  /** The configured scope; default `auto`. */
  readonly mode: SessionScope
  /** `per-session`: each client session that declares support for server requests has its own. */
  readonly kind: 'shared' | 'per-session' | 'per-user'
  readonly why: string
  /** Kinds of requests that the server was seen to send to clients. */
  readonly serverRequests?: readonly ServerRequestKind[]
  /** The hub is checking whether the server sends requests to clients. */
  readonly probing?: true
}

/** Codes of {@link ServerWarning}. */
export const SERVER_WARNINGS = [
  'tools_need_asking',
  'own_connection_refused',
  'one_connection_only',
  'health_path_missing',
  'tls_unchecked',
  'stray_output',
  'transport_deviates',
  'wrong_form',
  'plugin_off',
] as const

/** A restriction for clients of the server, whatever its state. */
export interface ServerWarning {
  readonly code: (typeof SERVER_WARNINGS)[number]
  readonly message: string
  /** Their original names. */
  readonly tools?: readonly string[]
  /** The fields of the server in the form that is meant, as a JSON Merge Patch (RFC 7396). */
  readonly suggestion?: JsonObject
}

/** An attempt to start a server that has not ended yet. */
export interface ServerStart {
  /** Elapsed time, in milliseconds. */
  readonly forMs: number
  /** The last line that its program wrote to stderr in this time, at most 200 characters. */
  readonly line?: string
}

/** The live state of a server, as the API shows it. */
export interface ServerStatus {
  readonly state: ConnectionState
  /** ISO 8601 UTC. */
  readonly since: string
  /**
   * `data.connectUrl`: the page at which a person ends it. `ofOwner`: its owner alone has no credential; callers with their own can
   * use it.
   */
  readonly reason?: {
    readonly code: ErrorCode
    readonly message: string
    readonly data?: WireError['data']
    readonly ofOwner?: true
  }
  /** Failed attempts since the last time online. */
  readonly attempts: number
  readonly nextAttemptAt?: string
  /** While an attempt to start it lasts. */
  readonly starting?: ServerStart
  /** The transport in effect: if only a URL is configured, the detected one. */
  readonly transport?: TransportName
  readonly era?: 'legacy' | 'modern'
  /** All protocol eras that the server was found to support; the older one is probed when an older client connects. */
  readonly eras?: readonly ('legacy' | 'modern')[]
  readonly protocolVersion?: string
  readonly serverInfo?: JsonObject
  readonly capabilities?: JsonObject
  readonly counts: { readonly tools: number; readonly prompts: number; readonly resources: number }
  readonly health?: ServerHealth
  /** Open connections: the one that all share, those of single client sessions, of leases for modern clients, of users. */
  readonly connections?: {
    readonly shared: number
    readonly session: number
    readonly lease: number
    readonly user: number
  }
  /** Sharing of its connections, and the reason. */
  readonly session?: ServerSession
  /** Restrictions for callers, each with its code. */
  readonly warnings?: readonly ServerWarning[]
  readonly pid?: number
  readonly latencyMs?: { readonly p50: number; readonly p95: number }
}
