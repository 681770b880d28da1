import type { ErrorKind } from '../contract/definition.ts'
import type { ErrorCode } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { Role, ServerRecord, TransportName } from '../contract/records.ts'
import type { ReceivedHint } from '../domain/cache-hint.ts'
import type { Era } from '../domain/era.ts'
import type { JsonText } from '../domain/json/long-text.ts'
import type { ListKind } from '../domain/mcp-methods.ts'
import type { RightsCap } from '../domain/server/owner-rights.ts'
import type { HealthCheckResult, ServerStatus } from '../domain/server/status.ts'
import type { ServerFace, Side } from '../domain/session-scope.ts'
import type { CatalogItem } from '../domain/tools/catalog-item.ts'
import type { CredentialChange, CredentialStanding } from '../features/credentials.ts'

/** Credentials of users for servers that want one of each caller. */
interface UserCredentials {
  /** A user's credential for the server was gained, renewed or lost. */
  changed(serverId: string, userId: string, change: CredentialChange): void
  /** The user's credential; undefined where nothing is known of it. Rejects when the server's settings cannot be read. */
  standing(serverId: string, userId: string): Promise<CredentialStanding | undefined>
}

/** Operations on the servers' connections for other rooms. The caller checks rights, by the registry. */
export interface Upstreams {
  readonly credentials: UserCredentials
  /**
   * One request to one server. Never throws; connects first when the server sleeps (`start: lazy`).
   * It uses the shared connection, or that of the session or user where the server's `session` setting says so.
   */
  request(serverId: string, request: UpstreamRequest): UpstreamCall
  /** Sends a notification to one session's dedicated connection, or the shared one; dropped when there is none. */
  notify(serverId: string, sessionId: string | undefined, method: string, params: JsonObject | undefined): void
  /** Ends every connection that is dedicated to this client session or lease. */
  endSession(sessionId: string): void
  /**
   * `record`: the server as stored now. If it is newer than the supervisor's (just created or switched), the result is
   * the state that the server is about to take. `userId`: as this user sees it, whose own credential is enough while that of the
   * owner is missing.
   */
  status(serverId: string, record?: Pick<ServerRecord, 'enabled' | 'problem'>, userId?: string): ServerStatus
  /** A server's side for callers of an era, as far as known; a cheap getter, unlike the status. */
  face(serverId: string, caller?: Era): UpstreamFace
  /** For legacy callers: resolves when these legacy sides are known, after 5 s at most. Undefined: they are. */
  awaitLegacySides(serverIds: Iterable<string>): Promise<void> | undefined
  /**
   * The last known lists, online or not; undefined when they were never read. `userId`: as this user's own credential shows them,
   * where the server asks its callers for one; absent: as the owner's does.
   */
  catalog(serverId: string, side?: Side, userId?: string): ServerCatalog | undefined
  /**
   * Opens the connection of a user whose lists of the server were never read. Resolves when they were or that failed, after 5 s at
   * most; undefined when nothing is to wait for. Never rejects.
   */
  callerLists(serverId: string, userId: string, side?: Side): Promise<void> | undefined
  /** The definitions of a server's tools, by original name; without a side: as shown to their owner. */
  definitions(serverId: string, side?: Side): ReadonlyMap<string, ToolDefinition>
  /** Approves a changed definition. Throws tool_not_found; version_conflict when it changed again. */
  approveTool(serverId: string, tool: string, hash: string): void
  /** Waits until each of these has a catalogue or has failed, at most `budgetMs`. */
  catalogsReady(serverIds: readonly string[], budgetMs: number): Promise<void>
  /** The desired state. The supervisor follows the registry, where it must be stored first; these act at once. */
  start(serverId: string): void
  stop(serverId: string): void
  restart(serverId: string): void
  /** Reads the lists again (connecting first when needed); `probe`: also probes the server's era again. */
  refresh(serverId: string, options?: { readonly probe?: boolean }): void
  /** A client reads the lists: those past their time to live, without list_changed, are read again meanwhile. */
  listed(serverId: string, side?: Side, userId?: string): void
  /** Resolves with the status once the server is online, offline by fault or stopped, or after `timeoutMs`. */
  settled(serverId: string, timeoutMs: number): Promise<ServerStatus>
  counts(): {
    readonly total: number
    readonly online: number
    readonly connecting: number
    readonly offline: number
    readonly tools: number
  }
  /** All servers as they are now; cheap. */
  states(): readonly ServerState[]
  /** The last 100 checks of a server's health, oldest first. */
  checks(serverId: string): readonly HealthCheckResult[]
  processes(): readonly ProcessInfo[]
  /**
   * Processes of this owner that count against `liveStdioPerUser`: sandboxed ones, with trials and dedicated ones, but without those for
   * the sessions of other users.
   */
  processesOf(ownerId: string): number
  /** Processes of other owners' servers that run for this user's sessions. */
  foreignProcessesOf(userId: string): number
  /** Isolated threads of this owner's servers with `isolate`. */
  isolatedThreadsOf(ownerId: string): number
  /** Bytes of the cached lists of this owner's servers, which count against `catalogBytesPerUser`. */
  catalogBytesOf(ownerId: string): number
  /** The last lines of stderr, at most 200, oldest first. */
  stderr(serverId: string): readonly { readonly at: string; readonly line: string }[]
  /** Connects once with a configuration that is not saved, and closes. `onStep` is called for each step as it happens. */
  trial(server: TrialServer, signal: AbortSignal, onStep?: TrialListener): Promise<TrialReport>
}

/** One server in a list of all. */
export interface ServerState {
  readonly serverId: string
  readonly ownerId: string
  readonly name: string
  readonly state: ServerStatus['state']
}

/** Facts about one side of a server that are known before a request is sent; updated as more is found out. */
export interface UpstreamFace extends ServerFace {
  /** Original names of tools that it lists only, or in another form, for clients that support server requests. */
  readonly tools: readonly string[]
  /** True when its server requests were probed, or do not matter. */
  readonly known: boolean
  /** A number that changes whenever `toolsFor` may return something else. */
  readonly listed: number
  /** Resolves when the first probe for server requests has ended; undefined when none is in progress. */
  readonly probing: Promise<void> | undefined
  /** Why the last probe failed. */
  readonly failure?: string | undefined
  /** The tools for a client with these capabilities, if known and different from the shared list. */
  toolsFor(capabilities: JsonObject): readonly CatalogItem[] | undefined
  /** Resolves when a list for such a client is ready; undefined when it need not wait. Never rejects. */
  ready(capabilities: JsonObject): Promise<void> | undefined
}

/** The definition of a tool (texts and schemas) by hash, and whether it is approved. */
export interface ToolDefinition {
  /** Hash of the current definition, or of the one that was listed last. */
  readonly hash: string
  /** True when it differs from the approved, or first, definition. */
  readonly changed: boolean
  /** Hash of the approved, or first, definition. */
  readonly approved: string
}

/** A running process of a server, for the console. */
export interface ProcessInfo {
  readonly pid: number
  readonly serverId: string
  readonly sessionId?: string
  readonly command: string
  readonly startedAt: string
  readonly sandbox: 'full' | 'off'
}

/** A client session as an upstream sees it, or another holder of dedicated connections. */
export interface SessionBinding {
  readonly id: string
  /** Id of the user for whom it acts. */
  readonly userId: string
  /**
   * `session`: its client also gets notifications that belong to no call. `lease`: one call of a modern client at a
   * time. `user`: all calls of one user. `face`: all callers of a server's legacy side.
   */
  readonly kind: 'session' | 'lease' | 'user' | 'face'
  /** The capabilities that the client declared: any of `sampling`, `elicitation`, `roots`, as it wrote them. */
  readonly capabilities: JsonObject
  readonly protocolVersion: string
  /** Level set by the client's `logging/setLevel`; absent: `info`. A modern upstream gets it with each call. */
  readonly logLevel?: string
  /**
   * Sends a server request that names no call, from the session's dedicated connection, to the client. Present where
   * `kind` is `session`. Never rejects; `signal` cancels it.
   */
  readonly ask?: AskClient
}

/** Sends a request of an upstream (sampling, elicitation, roots) to a client. Never rejects. */
export type AskClient = (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<AskReply>

/** One request to an upstream, with the callbacks for what the upstream sends before the response. */
export interface UpstreamRequest {
  readonly method: string
  /** Names are the upstream's own; `_meta.progressToken` is left out (see `progress`). */
  readonly params: JsonObject | undefined
  /** Members of `arguments` in which the server's variables are filled in when the call is sent. */
  readonly variablesIn?: readonly string[]
  /** The caller requests progress: the hub adds its own token, and `progress` is called for each increase. */
  readonly progress?: (params: JsonObject) => void
  /** Called for any other notification on this call's own stream (log messages). */
  readonly notification?: (method: string, params: JsonObject | undefined) => void
  /** Called for a server request that this call caused: sampling, elicitation, roots. Absent: answered with −32601. */
  readonly ask?: AskClient
  readonly session?: SessionBinding
  /** True when it is for the server's legacy side. */
  readonly older?: boolean
  /**
   * Set for a modern caller: a modern upstream gets this envelope, its result is returned as written, and its input
   * requests are returned as `input_required` instead of by `ask`. For a legacy upstream it has no effect.
   */
  readonly modern?: {
    readonly inputResponses?: JsonValue
    readonly requestState?: string
    readonly capabilities: JsonObject
    readonly logLevel?: string
  }
  /** Headers of this one call that the server's `passthroughHeaders` lists, by lower-case name. */
  readonly passthroughHeaders?: Readonly<Record<string, string>>
  /** True when a modern server may answer with a task: the extension is declared to it. */
  readonly tasks?: true
  /** The result is not normalized: the caller is no MCP client, and sees what the server wrote. */
  readonly asWritten?: true
}

/** A client's response to a server request, without its id. */
export type AskReply = { readonly result: JsonValue } | { readonly error: RpcError }

/** An error object of JSON-RPC. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonValue
}

/** A request in flight. */
export interface UpstreamCall {
  readonly reply: Promise<UpstreamReply>
  /** Cancels the call: the upstream is notified, the reply is `{kind: 'cancelled'}`. No effect once it was answered. */
  cancel(reason?: string): void
}

/**
 * The hub's own error in place of a response; `retryAfterSeconds` where it is known when a retry may succeed, `connectUrl` where
 * the caller can end it at a page.
 */
export interface Failed {
  readonly kind: 'failed'
  readonly code: ErrorCode
  readonly message: string
  readonly retryAfterSeconds?: number
  readonly connectUrl?: string
  /** The meaning of a plugin's own code. */
  readonly own?: ErrorKind
  /** The server got nothing of the request. */
  readonly unsent?: true
}

/** `note` is for the record of the call. `text` is the JSON text of `result` as the upstream wrote it: it is spliced into the response, never re-encoded. */
export type UpstreamReply =
  | {
      readonly kind: 'result'
      readonly text: JsonText
      readonly isError: boolean
      readonly note?: string
      /** A filter of content refused the request, or its result. */
      readonly refused?: { readonly plugin: string; readonly code: string; readonly unsent?: true }
    }
  /** Only where `modern` was set: the whole result with `inputRequests`, as written. */
  | { readonly kind: 'input_required'; readonly text: string }
  /** Only where `tasks` was set: the task that the server made of the call, as written. */
  | { readonly kind: 'task'; readonly text: string }
  | { readonly kind: 'error'; readonly error: RpcError }
  | Failed
  /** `unsent`: the server got nothing of the request. */
  | { readonly kind: 'cancelled'; readonly unsent?: true }

/** Cache hints of a modern server, by list. */
export type Caching = Readonly<Partial<Record<ListKind | 'discover', ReceivedHint>>>

/** All lists of one server, all pages, with the items as the upstream wrote them; keys are unique in each list. */
export interface ServerCatalog {
  readonly tools: readonly CatalogItem[]
  readonly prompts: readonly CatalogItem[]
  readonly resources: readonly CatalogItem[]
  readonly resourceTemplates: readonly CatalogItem[]
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions?: string
  readonly protocolVersion: string
  /** The version that the server is asked with in `initialize`, where it refuses the latest. */
  readonly askedVersion?: string
  /** The transport it was read by, if not the configured one. */
  readonly transport?: TransportName
  /** ISO 8601 UTC. */
  readonly readAt: string
  /** Cache hints of a modern server; absent for others. */
  readonly caching?: Caching
  /** Marks of the hubs that the lists came through. */
  readonly instances?: readonly string[]
  /** Items that were left out at a limit, as texts. */
  readonly warnings: readonly string[]
  /** The quota of the owner because of which the lists are truncated. */
  readonly refused?: { readonly code: ErrorCode; readonly message: string }
}

/** A configuration to try that is not saved. */
export interface TrialServer {
  readonly ownerId: string
  /** The role whose rights apply: `user` also for a restricted server of an administrator. */
  readonly ownerRole: Role
  /** That of the stored server whose configuration is tried. */
  readonly rightsCap?: RightsCap
  readonly transport: string
  /** True when only a URL is configured: SSE is tried where Streamable HTTP is not supported. */
  readonly transportInferred?: boolean
  readonly config: JsonObject
  /** Reads the inline OpenAPI document, whose placeholder is in `config`. */
  readonly document?: () => Promise<Uint8Array>
  /** The only era to try; absent: the server's. */
  readonly era?: Era
  readonly timeoutMs: number
  /** As in the settings of a server. */
  readonly startTimeoutMs?: number
  /** Secrets to redact in the report: those of this configuration, and no others. */
  readonly secrets: readonly string[]
}

/** One finished step of a trial. */
export interface TrialStep {
  readonly name: string
  readonly ok: boolean
  readonly durationMs: number
  /** Code of the error, for a step that failed. */
  readonly code?: ErrorCode
  /** Number of tools, for the step that lists them. */
  readonly count?: number
  readonly detail?: string
}

/** Called when a step begins, with its name alone, and when it has ended. */
export type TrialListener = (step: TrialStep | Pick<TrialStep, 'name'>) => void

/** The result of a trial, shown to the person who made it. */
export interface TrialReport {
  readonly ok: boolean
  readonly steps: readonly TrialStep[]
  readonly tools: readonly JsonObject[]
  /** Texts on what was left out or is invalid. */
  readonly warnings: readonly string[]
  readonly error?: { readonly code: ErrorCode; readonly message: string }
}
