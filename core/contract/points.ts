import type { JsonObject, JsonValue } from './json.ts'
import type { Actor, GroupRecord, LogRecord, ServerRecord, TransportName, UserActor } from './records.ts'

/** A kind of upstream. The schema describes the transport's own fields of a server; the module runs in a worker. */
export interface TransportContribution {
  /** For people, such as `Remote server (streamable HTTP)`. */
  readonly label: string
  /** Unique in one hub; lower-case letters, digits and dashes. */
  readonly transport: TransportName
  /**
   * JSON Schema (2020-12) of the transport's own fields, which stand beside the common fields of a server. Core
   * validates servers by it; the API document and the console's form show it. Keywords: `type`, `properties`,
   * `required`, `additionalProperties`, `items`, `enum`, `minLength`, `maxLength`, `minimum`, `maximum`, `maxItems`,
   * `maxProperties`, `pattern`; any other one but annotations fails the plugin. It is data, so that an isolated plugin
   * can bring it. `writeOnly`: the text is a secret. `format` gives a value a meaning:
   * `uri` (an address, which the owner must be allowed to reach; `schemes` in place of http and https),
   * `http-headers` and `environment` (secret by the name of each entry), `command`, `command-arguments`, `directory`,
   * `openapi`.
   */
  readonly configSchema: JsonObject
  /** file: URL of the module whose default export is a TransportDefinition. */
  readonly module: string
  /** The kind of that definition. Default `messages`. */
  readonly kind?: 'messages' | 'answers'
  /** True when its servers may speak MCP 2026-07-28. Default false: the hub never asks them for it. */
  readonly modern?: boolean
  /** The program that main must start for the link, or null. Pure; called at each start. */
  child?(config: JsonObject): {
    readonly command: string
    readonly args: readonly string[]
    readonly env: Readonly<Record<string, string>>
    readonly cwd?: string
  }
}

/** Receives the records of the hub's log. */
export interface LogSink {
  write(batch: readonly LogRecord[], signal: AbortSignal): Promise<void>
}

/** Adds headers when the hub connects to a server. A configured header of the same name wins; core ensures that. */
export interface HeaderProvider {
  headersFor(server: {
    readonly id: string
    readonly ownerId: string
    readonly transport: TransportName
    readonly url: string
  }): Promise<Readonly<Record<string, string>>>
}

/** One MCP request on its way through the middleware. */
export interface McpMessage {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly actor: UserActor
}

/** Runs around every matching MCP request. Cannot widen rights: ownership and visibility are checked again after it. */
export interface McpMiddleware {
  /** A method, or a prefix that ends with `*`. */
  readonly method: string
  /** Lower runs first. Default 0. */
  readonly order?: number
  /** Milliseconds for the middleware's own work; 1 to 60_000. */
  readonly timeoutMs: number
  /** What happens when it throws or times out: `open` continues without it, `closed` rejects the request. */
  readonly onError: 'open' | 'closed'
  /** Continue with `next`; for a tools/call a second time rejects with `internal`, since the tool may have acted. */
  handle(message: McpMessage, next: (message: McpMessage) => Promise<JsonValue>): Promise<JsonValue>
}

/** Resolves a name under `/mcp` to a group of servers. */
export interface GroupResolver {
  /** Undefined unless the actor may see the group. An empty name without an owner: all servers of the actor. */
  resolve(actor: Actor, owner: string | undefined, name: string): Promise<ResolvedGroup | undefined>
}

/** The result of a `GroupResolver`. */
export interface ResolvedGroup {
  /** Default `group`. `server`: the name was a server's, which is the only member. `all`: every server of the actor. */
  readonly kind?: 'group' | 'server' | 'all'
  readonly group: GroupRecord
  /** The members that this actor may use, in group order. */
  readonly servers: readonly ServerRecord[]
}

/** An HTTP route of a plugin; `access` says who may call it. */
export interface RouteContribution {
  /** Below `/api/plugins/{plugin}/`, such as `status`. */
  readonly path: string
  readonly access: 'public' | 'user' | 'admin'
  fetch(request: Request, actor: UserActor | undefined): Promise<Response>
}

/** A connection that the hub opens by itself, such as one to an assistant platform. */
export interface Bridge {
  start(signal: AbortSignal): Promise<void>
  status(): JsonObject
}

/** The extension points by name, with the type of their contributions. */
export interface ExtensionPoints {
  transport: TransportContribution
  logSink: LogSink
  headerProvider: HeaderProvider
  mcpMiddleware: McpMiddleware
  groupResolver: GroupResolver
  bridge: Bridge
  routes: RouteContribution
}

/** Points whose contributions run in the main thread, so that an isolated plugin cannot add any. */
export const MAIN_ONLY_POINTS = [
  'headerProvider',
  'groupResolver',
  'bridge',
] as const satisfies readonly (keyof ExtensionPoints)[]

/** Points that core does not use yet: contributions are stored and never called. */
export const POINTS_TO_COME = ['logSink', 'bridge'] as const satisfies readonly (keyof ExtensionPoints)[]
