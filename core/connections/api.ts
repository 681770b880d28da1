import type { ErrorCode } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { Role, ServerRecord, TransportName } from '../contract/records.ts'
import type { CacheHint } from '../domain/cache-hint.ts'
import type { Era } from '../domain/era.ts'
import type { JsonText } from '../domain/json/long-text.ts'
import type { RightsCap } from '../domain/server/owner-rights.ts'
import type { ServerStatus } from '../domain/server/status.ts'
import type { ServerFace, Side } from '../domain/session-scope.ts'
import type { CatalogItem } from '../domain/tools/catalog-item.ts'

/** What the rest of the hub may ask of connections. Rights are judged by the caller, by the registry. */
export interface Upstreams {
  /**
   * One request to one server. Never throws; connects first when the server sleeps (`start: lazy`).
   * The connection is the shared one, or the session's or its user's own where the server's `session` says so.
   */
  request(serverId: string, request: UpstreamRequest): UpstreamCall
  /** A notification toward one session's own connection, or the shared one; dropped when there is none. */
  notify(serverId: string, sessionId: string | undefined, method: string, params: JsonObject | undefined): void
  /** Ends every connection that belongs to this client session or lease alone. */
  endSession(sessionId: string): void
  /**
   * `record`: the server as it is stored now. Where that is newer than what was heard of it (it was made or switched a
   * moment ago), the state is the one that it is about to take.
   */
  status(serverId: string, record?: Pick<ServerRecord, 'enabled' | 'problem'>): ServerStatus
  /** What callers of an era meet of a server, as far as is known; costs next to nothing, unlike the status. */
  face(serverId: string, caller?: Era): UpstreamFace
  /** Callers of the older era come: resolves when what they meet of these is known, after 5 s at most. Undefined: it is. */
  meetOlder(serverIds: Iterable<string>): Promise<void> | undefined
  /** The last known lists, online or not; undefined when the server was never seen. */
  catalog(serverId: string, side?: Side): ServerCatalog | undefined
  /** What is known of the definitions of a server's tools, by original name; without a side: as their owner is shown them. */
  definitions(serverId: string, side?: Side): ReadonlyMap<string, ToolDefinition>
  /** Takes a changed definition as what is wanted. Throws tool_not_found; version_conflict when it changed once more. */
  approveTool(serverId: string, tool: string, hash: string): void
  /** Waits until each of these has a catalogue or has failed, at most `budgetMs`. */
  catalogsReady(serverIds: readonly string[], budgetMs: number): Promise<void>
  /** The wish: on or off. The supervisor follows what the registry says, in which it was kept before; these act at once. */
  start(serverId: string): void
  stop(serverId: string): void
  restart(serverId: string): void
  /** Reads the lists again (connecting first when needed); `probe`: also finds out anew which era the server speaks. */
  refresh(serverId: string, options?: { readonly probe?: boolean }): void
  /** Somebody reads the lists: those that the server calls stale and does not watch itself are read again meanwhile. */
  listed(serverId: string, side?: Side): void
  /** Resolves with the status once the server is online, offline by fault or stopped, or `timeoutMs` is over. */
  settled(serverId: string, timeoutMs: number): Promise<ServerStatus>
  counts(): {
    readonly total: number
    readonly online: number
    readonly connecting: number
    readonly offline: number
    readonly tools: number
  }
  processes(): readonly ProcessInfo[]
  /** Processes of this owner that count against `liveStdioPerUser`: those shut in a sandbox, trials and callers' own among them. */
  processesOf(ownerId: string): number
  /** Threads of servers with `isolate` of this owner. */
  isolatedThreadsOf(ownerId: string): number
  /** Bytes of the lists that are kept of this owner's servers, which count against `catalogBytesPerUser`. */
  catalogBytesOf(ownerId: string): number
  /** The last lines of stderr, at most 200, oldest first. */
  stderr(serverId: string): readonly { readonly at: string; readonly line: string }[]
  /** Connects once with a configuration that is not saved, and closes. */
  trial(server: TrialServer, signal: AbortSignal): Promise<TrialReport>
}

/** What is known of a server before a request goes to it. It changes as more is found out. */
export interface UpstreamFace extends ServerFace {
  /** Original names of tools that it lists only, or lists in another form, for clients that can be asked. */
  readonly tools: readonly string[]
  /** What it does for such clients was found out, or is of no account. */
  readonly known: boolean
  /** Another number whenever `toolsFor` may return something else. */
  readonly listed: number
  /** Resolves when the first look at what it does for clients that can be asked is over; undefined when none is under way. */
  readonly looking: Promise<void> | undefined
  /** Why the last look failed. */
  readonly failure?: string | undefined
  /** Its tools as a client with these capabilities sees them, where they are known and not those of the shared list. */
  toolsFor(capabilities: JsonObject): readonly CatalogItem[] | undefined
  /** What a list of them must wait for; undefined when nothing. Never rejects. */
  ready(capabilities: JsonObject): Promise<void> | undefined
}

export interface ToolDefinition {
  /** Of what the tool says of itself now, or said when it was last listed. */
  readonly hash: string
  /** It is another one than was approved, or than was seen first. */
  readonly changed: boolean
}

export interface ProcessInfo {
  readonly pid: number
  readonly serverId: string
  readonly sessionId?: string
  readonly command: string
  readonly startedAt: string
  readonly sandbox: 'full' | 'off'
}

/** A client session as an upstream may meet it, or whoever else has connections of its own. */
export interface SessionBinding {
  readonly id: string
  /** The user for whom it acts. */
  readonly userId: string
  /**
   * `session`: its client also hears what belongs to no call. `lease`: one call of a modern client at a time.
   * `user`: all calls of one user. `face`: all who share a server's older face.
   */
  readonly kind: 'session' | 'lease' | 'user' | 'face'
  /** What the client declared: any of `sampling`, `elicitation`, `roots`, as it wrote them. */
  readonly capabilities: JsonObject
  readonly protocolVersion: string
  /** What the client set by `logging/setLevel`; absent: `info`. An upstream of the modern era is told with each call. */
  readonly logLevel?: string
  /**
   * Asks the client what a server asks on the session's own connection without naming a call. Present where `kind` is
   * `session`. Never rejects; `signal` withdraws it.
   */
  readonly ask?: AskClient
}

/** A request of an upstream (sampling, elicitation, roots) to a client. */
export type AskClient = (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<AskReply>

export interface UpstreamRequest {
  readonly method: string
  /** The upstream's own names; `_meta.progressToken` left out (see `progress`). */
  readonly params: JsonObject | undefined
  /** Members of `arguments` into whose texts the server's variables are filled when the call is sent. */
  readonly variablesIn?: readonly string[]
  /** The caller wants progress: the hub's own token is put in, and `progress` hears each that rises. */
  readonly progress?: (params: JsonObject) => void
  /** Any other notification that came on this call's own stream (log messages). */
  readonly notification?: (method: string, params: JsonObject | undefined) => void
  /** A request of the upstream that this call caused: sampling, elicitation, roots. Absent: answered −32601. */
  readonly ask?: AskClient
  readonly session?: SessionBinding
  /** It is for the server's older face. */
  readonly older?: boolean
  /**
   * The caller speaks the modern era itself: to an upstream of that era this is its envelope, the result comes back as
   * written, and what the upstream wants to hear comes back as `input_required` instead of by `ask`. An upstream of the
   * other era sees nothing of it.
   */
  readonly modern?: {
    readonly inputResponses?: JsonValue
    readonly requestState?: string
    readonly capabilities: JsonObject
    readonly logLevel?: string
  }
  /** Headers of this one call that the server's `passthroughHeaders` lists, by lower-case name. */
  readonly passthroughHeaders?: Readonly<Record<string, string>>
}

export type AskReply = { readonly result: JsonValue } | { readonly error: RpcError }

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonValue
}

export interface UpstreamCall {
  readonly reply: Promise<UpstreamReply>
  /** Ends the call: the upstream is told, the reply is `{kind: 'cancelled'}`. Without effect once answered. */
  cancel(reason?: string): void
}

/** What the hub says in place of an answer; `retryAfterSeconds` where it is known when a repetition makes sense. */
export interface Failed {
  readonly kind: 'failed'
  readonly code: ErrorCode
  readonly message: string
  readonly retryAfterSeconds?: number
}

/** `text` is the JSON text of `result` as the upstream wrote it: it is spliced into the answer, never re-encoded. */
export type UpstreamReply =
  | { readonly kind: 'result'; readonly text: JsonText; readonly isError: boolean }
  /** Only where `modern` was given: the whole result that asks, as written. */
  | { readonly kind: 'input_required'; readonly text: string }
  | { readonly kind: 'error'; readonly error: RpcError }
  | Failed
  | { readonly kind: 'cancelled' }

export type CatalogKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

export type Caching = Readonly<Partial<Record<CatalogKind | 'discover', CacheHint>>>

/** The whole lists of one server, all pages, as the upstream wrote the items; a key is there once in each. */
export interface ServerCatalog {
  readonly tools: readonly CatalogItem[]
  readonly prompts: readonly CatalogItem[]
  readonly resources: readonly CatalogItem[]
  readonly resourceTemplates: readonly CatalogItem[]
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions?: string
  readonly protocolVersion: string
  /** What it was read by, where that is not the configured transport. */
  readonly transport?: TransportName
  /** ISO 8601 UTC. */
  readonly readAt: string
  /** What a server of the modern era said about keeping its answers; absent for others. */
  readonly caching?: Caching
  /** Marks of the hubs that the lists came through. */
  readonly instances?: readonly string[]
  /** What was left out at a limit. */
  readonly warnings: readonly string[]
  /** The quota of the owner by which some of it was left out. */
  readonly refused?: { readonly code: ErrorCode; readonly message: string }
}

export interface TrialServer {
  readonly ownerId: string
  /** By whose rights it runs: `user` also where an administrator who owns it is restricted. */
  readonly ownerRole: Role
  /** As of a stored server whose configuration is tried. */
  readonly rightsCap?: RightsCap
  readonly transport: string
  /** Only a URL is configured: what does not speak streamable HTTP is tried as SSE. */
  readonly transportInferred?: boolean
  readonly config: JsonObject
  /** The one era to try; absent: what it speaks. */
  readonly era?: Era
  readonly timeoutMs: number
  /** What must not come out of the report: the secrets of this configuration, and no others. */
  readonly secrets: readonly string[]
}

export interface TrialReport {
  readonly ok: boolean
  readonly steps: readonly {
    readonly name: string
    readonly ok: boolean
    readonly durationMs: number
    readonly detail?: string
  }[]
  readonly tools: readonly JsonObject[]
  /** What was left out or is odd. */
  readonly warnings: readonly string[]
  readonly error?: { readonly code: ErrorCode; readonly message: string }
}
