import type { JsonObject } from '../contract/json.ts'
import type { GroupRecord, UserActor } from '../contract/records.ts'
import type { RequestInfo } from '../http/route.ts'

export interface McpEndpoint {
  /**
   * Answers `/mcp…`, `/sse…`, `/messages` and `/.well-known/oauth-protected-resource…`; never rejects. The guard has admitted the request.
   * `path` is below the base path, percent-encoded.
   */
  fetch(request: Request, path: string, info: RequestInfo): Response | Promise<Response>
  sessions(): readonly SessionInfo[]
  /** Ends one session from outside; false when there is none. */
  endSession(id: string, reason: string): boolean
  /** What a client of this group sees, for the console and the CLI. */
  groupView(actor: UserActor, group: GroupRecord): Promise<GroupView>
  /** No new sessions; waits for calls in flight, at most `timeoutMs`; then ends all streams. */
  drain(timeoutMs: number): Promise<void>
  dispose(): void
}

export interface SessionInfo {
  /** A hash of the session's id, safe to show. */
  readonly id: string
  readonly userId: string
  readonly userName: string
  readonly scope: string
  readonly protocolVersion: string
  readonly clientInfo: JsonObject
  readonly openedAt: string
  readonly lastUsedAt: string
  readonly streams: number
  readonly callsInFlight: number
}

export interface GroupView {
  readonly tools: readonly (JsonObject & {
    readonly name: string
    readonly server: string
    readonly original: string
  })[]
  readonly counts: { readonly tools: number; readonly prompts: number; readonly resources: number }
  /** Characters of the tool list divided by four: about as many tokens. */
  readonly tokens: number
  readonly warnings: readonly string[]
}
