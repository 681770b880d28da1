import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord, ServerRecord, UserActor } from '../contract/records.ts'
import type { GroupWarning } from '../domain/group-warning.ts'
import type { RequestInfo } from '../request/request-info.ts'
import type { DirectCall } from './call/direct-call.ts'
import type { Outcome } from './call/exchange.ts'
import type { SessionInfo } from './legacy/session.ts'

export interface McpEndpoint {
  /**
   * Answers `/mcp…`, `/sse…`, `/messages`; never rejects. The guard has admitted the request.
   * `path` is below the base path, percent-encoded.
   */
  fetch(request: Request, path: string, info: RequestInfo): Response | Promise<Response>
  /**
   * Calls one tool without a client session, on the same way as a client at `/mcp/{server}`: overrides, middlewares, the
   * caller's quota of calls, the record. Rejects with HubError for what the hub itself refuses, such as tool_not_found and
   * quota_calls; waits up to 2 s for the lists of a server that was never seen.
   */
  callTool(call: DirectCall): Promise<Outcome>
  /** What a user has of it now. */
  usage(userId: string): McpUsage
  sessions(): readonly SessionInfo[]
  /** Ends one session from outside; false when there is none. */
  endSession(id: string, reason: string): boolean
  /** What a client that may use these servers of the group sees, for the console and the CLI. */
  groupView(actor: UserActor, group: GroupRecord, servers: readonly ServerRecord[]): GroupView
  /** No new sessions; waits for calls in flight, at most `timeoutMs`; then ends all streams. */
  drain(timeoutMs: number): Promise<void>
  dispose(): void
}

/** Counts of one user, as LIMITS names them. */
export interface McpUsage {
  /** At that server, and for that set of capabilities, where there are most. */
  readonly leasesPerUser: number
  readonly sessionsPerUser: number
  /** Of sessions, of clients without one, and by the API. */
  readonly callsPerUser: number
  readonly streamsPerUser: number
  readonly listenStreamsPerUser: number
  readonly parkedCallsPerUser: number
  readonly tasksPerUser: number
  readonly keptResultBytesPerUser: number
  readonly bytesInFlightPerUser: number
  readonly eventReplayBytesPerUser: number
}

export interface GroupView {
  /** Tools from `offset` on: `limit` of them, or fewer where they are more than 1 MiB. */
  readonly tools: (
    offset: number,
    limit: number,
  ) => readonly (JsonObject & {
    readonly name: string
    readonly server: string
    readonly original: string
  })[]
  readonly counts: { readonly tools: number; readonly prompts: number; readonly resources: number }
  /** Characters of the tool list divided by four: about as many tokens. */
  readonly tokens: number
  readonly warnings: readonly GroupWarning[]
}
