import type { JsonObject, JsonValue } from './json.ts'
import type { GroupRecord, ServerRecord, TransportName, UserActor } from './records.ts'

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
   * `openapi`, `certificates` and `private-key` (PEM). `asksCallers`: where the field has a value, its callers bring credentials of
   * their own, unless the field `credentials` is `owner`. A field `tls` (`TLS_CONFIG_SCHEMA` of `patchbay/transport-kit`)
   * holds for the guarded client that the transport gets.
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

/** One MCP request on its way through the middleware. */
export interface McpMessage {
  readonly method: string
  readonly params: JsonObject | undefined
  readonly actor: UserActor
  readonly context: McpContext
}

/** The hub's knowledge of a request when a middleware gets it. `server` and `tool` are set if the parameters name them; the tool by its own name. */
export interface McpContext {
  /** In normal form, such as `/mcp/work`. */
  readonly path: string
  readonly group: Pick<GroupRecord, 'id' | 'name'>
  readonly session?: string
  readonly client: { readonly name?: string; readonly version?: string; readonly address: string }
  readonly server?: Pick<ServerRecord, 'id' | 'name' | 'ownerId' | 'ownerName'>
  readonly tool?: { readonly name: string; readonly annotations: JsonObject }
}

/** Runs around every matching MCP request. Cannot widen rights: ownership and visibility are checked again after it. */
export interface McpMiddleware {
  /** A method, or a prefix that ends with `*`. */
  readonly method: string
  /** Lower runs first. Default 0. */
  readonly order?: number
  /** Milliseconds for the middleware's own work; 1 to 60_000. */
  readonly timeoutMs: number
  /** When it throws or times out: `open` continues without it, `closed` rejects the request, as `blocked_by_plugin` always does. */
  readonly onError: 'open' | 'closed'
  /** Continue with `next`; for a tools/call a second time rejects with `internal`, since the tool may have acted. */
  handle(message: McpMessage, next: (message: Omit<McpMessage, 'context'>) => Promise<JsonValue>): Promise<JsonValue>
}

/** An HTTP route of a plugin; `access` says who may call it. */
export interface RouteContribution {
  /** Below `/api/plugins/{plugin}/`, such as `status`. */
  readonly path: string
  readonly access: 'public' | 'user' | 'admin'
  fetch(request: Request, actor: UserActor | undefined): Promise<Response>
}

/** The extension points by name, with the type of their contributions. Plugins with points of their own merge these into it. */
export interface ExtensionPoints {
  transport: TransportContribution
  mcpMiddleware: McpMiddleware
  routes: RouteContribution
}
