import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../contract/records.ts'
import type { GroupWarning } from '../domain/group-warning.ts'
import type { RequestInfo } from '../request/request-info.ts'
import type { DirectCall, RefusedDirectCall } from './call/direct-call.ts'
import type { Outcome } from './call/exchange.ts'
import type { PathClient, PathClientOptions } from './inner/path-clients.ts'
import type { SessionInfo } from './legacy/session.ts'

/** The MCP side of the hub, as `core/http` and the console use it. */
export interface McpEndpoint {
  /**
   * Answers `/mcp…`, `/sse…`, `/messages`; never rejects. The guard has admitted the request. `path` is below the base
   * path, percent-encoded.
   */
  fetch(request: Request, path: string, info: RequestInfo): Response | Promise<Response>
  /**
   * Calls one tool without a client session, like a client at `/mcp/{server}`: with overrides, middlewares, the
   * caller's quota of calls, and a call record. Rejects with HubError for what the hub itself rejects, such as
   * tool_not_found and quota_calls; waits up to 2 s for the lists of a server that was never seen.
   */
  callTool(call: DirectCall): Promise<Outcome>
  /** Records a call that was refused before it came to `callTool`, such as one of a tool that its server does not have. */
  recordRefusal(call: RefusedDirectCall, error: unknown): void
  /** A client inside the hub at a path under `/mcp`. Throws `group_not_found`. */
  openPath(options: PathClientOptions): Promise<PathClient>
  /** Number of things that a user has open now. */
  usage(userId: string): McpUsage
  sessions(): readonly SessionInfo[]
  /** Ends one session by an administrator or the hub; false when there is none. */
  endSession(id: string, reason: string): boolean
  /** The group as a client that may use these servers sees it, for the console and the CLI. Waits for lists of the actor alone. */
  groupView(actor: UserActor, group: GroupRecord, servers: readonly ServerRecord[]): Promise<GroupView>
  /**
   * Throws `group_schema_differs` or `selector_argument_taken` for a group whose selector chooses among servers that are not alike,
   * as far as their lists are known.
   */
  checkGroup(group: GroupRecord, servers: readonly ServerRecord[]): void
  /** Opens no new sessions; waits for calls in flight, at most `timeoutMs`; then ends all streams. */
  drain(timeoutMs: number): Promise<void>
  dispose(): void
}

/** Counts of one user, named like LIMITS. */
export interface McpUsage {
  /** The most in one pool: of one server and set of capabilities. */
  readonly leasesPerUser: number
  readonly sessionsPerUser: number
  /** Most calls at the same time: of sessions, of modern clients, and by the API. */
  readonly callsPerUser: number
  readonly streamsPerUser: number
  readonly listenStreamsPerUser: number
  readonly parkedCallsPerUser: number
  readonly tasksPerUser: number
  readonly bytesInFlightPerUser: number
  readonly eventReplayBytesPerUser: number
}

/** A group's merged catalogue for display, with warnings. */
export interface GroupView {
  /** Tools from `offset` on: `limit` of them, or fewer where they exceed 1 MiB. */
  readonly tools: (
    offset: number,
    limit: number,
  ) => readonly (JsonObject & {
    readonly name: string
    readonly server: string
    readonly original: string
  })[]
  readonly counts: { readonly tools: number; readonly prompts: number; readonly resources: number }
  /** Estimated tokens: characters of the tool list divided by four. */
  readonly tokens: number
  readonly warnings: readonly GroupWarning[]
}
