import type { JsonObject, JsonValue } from './json.ts'
import type { Actor, GroupRecord, LogRecord, ServerRecord, TransportName, UserActor } from './records.ts'

/** A kind of upstream. The schema validates the transport's part of a server; the module runs in a worker. */
export interface TransportContribution {
  readonly label: string
  readonly transport: TransportName
  /** JSON Schema (2020-12) of the transport's own fields, for the console's form and the API document. */
  readonly configSchema: JsonObject
  /** file: URL of the module whose default export is a TransportDefinition. */
  readonly module: string
  /** The kind of that definition. Default `messages`. */
  readonly kind?: 'messages' | 'answers'
  /** What main must start for the link: null, or the program. Pure; called at each start. */
  child?(config: JsonObject): {
    readonly command: string
    readonly args: readonly string[]
    readonly env: Readonly<Record<string, string>>
    readonly cwd?: string
  }
}

export interface LogSink {
  write(batch: readonly LogRecord[], signal: AbortSignal): Promise<void>
}

/** Adds headers when the hub connects to a server. A header set by hand wins; core sees to that. */
export interface HeaderProvider {
  headersFor(server: {
    readonly id: string
    readonly ownerId: string
    readonly transport: TransportName
    readonly url: string
  }): Promise<Readonly<Record<string, string>>>
}

export interface McpMessage {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly actor: UserActor
}

/** Runs round every matching MCP request. Cannot widen rights: ownership and visibility are checked again after it. */
export interface McpMiddleware {
  /** A method, or a prefix that ends with `*`. */
  readonly method: string
  /** Lower runs first. Default 0. */
  readonly order?: number
  /** Milliseconds for the middleware's own work; 1 to 60_000. */
  readonly timeoutMs: number
  /** What happens when it throws or is late: `open` goes on without it, `closed` refuses the request. */
  readonly onError: 'open' | 'closed'
  /**
   * `next` goes on with the request. Of a tools/call it may be called once: a second call rejects with `internal`, and nothing
   * is sent, since the tool may have acted already.
   */
  handle(message: McpMessage, next: (message: McpMessage) => Promise<JsonValue>): Promise<JsonValue>
}

/** What the group resolver may ask of the registry. */
export interface GroupResolver {
  /**
   * The group behind a name for this actor, or undefined; never one that the actor may not see. An empty name without an
   * owner asks for all servers of the actor as one group.
   */
  resolve(actor: Actor, owner: string | undefined, name: string): Promise<ResolvedGroup | undefined>
}

export interface ResolvedGroup {
  /** `server`: the name was a server's, and the group is that server alone. `all`: every server of the actor. Default `group`. */
  readonly kind?: 'group' | 'server' | 'all'
  readonly group: GroupRecord
  /** The members that this actor may use, in group order. */
  readonly servers: readonly ServerRecord[]
}

export interface RouteContribution {
  /** Below `/api/plugins/{plugin}/`, such as `status`. */
  readonly path: string
  readonly access: 'public' | 'user' | 'admin'
  fetch(request: Request, actor: UserActor | undefined): Promise<Response>
}

/** A connection that the hub dials by itself, such as one to an assistant platform. */
export interface Bridge {
  start(signal: AbortSignal): Promise<void>
  status(): JsonObject
}

/** The table of extension points. */
export interface ExtensionPoints {
  transport: TransportContribution
  logSink: LogSink
  headerProvider: HeaderProvider
  mcpMiddleware: McpMiddleware
  groupResolver: GroupResolver
  bridge: Bridge
  routes: RouteContribution
}

/** Points whose contributions run in the main thread, so that an isolated plugin cannot offer them. */
export const MAIN_ONLY_POINTS = [
  'headerProvider',
  'groupResolver',
  'bridge',
] as const satisfies readonly (keyof ExtensionPoints)[]

/** Points that nothing in core uses yet: what is contributed there is kept and not called. */
export const POINTS_TO_COME = ['logSink', 'bridge'] as const satisfies readonly (keyof ExtensionPoints)[]
