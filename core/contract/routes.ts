import type { HubError } from './errors.ts'
import type { JsonValue } from './json.ts'
import type { UserActor } from './records.ts'
import type { ConfigSchema } from './schema.ts'

/** The callers of a route: anybody, any authenticated user, or administrators. */
export type RouteAccess = 'public' | 'user' | 'admin'

/** A checked request to a route of a plugin. */
export interface RouteRequest<Params, Query, Body, Access extends RouteAccess> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** The body of a route with `rawBody`; of others it is empty. */
  readonly bytes: Uint8Array
  readonly actor: Access extends 'public' ? UserActor | undefined : UserActor
  /** By name in lower case; without credentials, unless the route has `ownCredential`. */
  readonly headers: Readonly<Record<string, string>>
  /** The query as it was sent, without `?`. */
  readonly search: string
  /** The address of the hub as this client reaches it, without a slash at its end. */
  readonly baseUrl: string
  /** The client's address, by which limits for callers without a credential count. */
  readonly addressKey: string
  /** The client's address, after trusted proxies; `viaProxy`: there is one. */
  readonly clientAddress: string
  readonly viaProxy: boolean
  readonly requestId: string
  /** Aborted when the client disconnects, and in a worker after the route's time. */
  readonly signal: AbortSignal
}

/** One answer in the API document. `of`: it is a record of the hub, or where there is a `schema` too, one of both. */
export type RouteAnswerKind = Readonly<{
  description: string
  schema?: ConfigSchema<unknown>
  of?: 'server'
  example?: JsonValue | object
  /** The content type of a `text` that is no JSON. */
  contentType?: string
}>

/** The answer of a route. Default: status 200, no body. The body is sent as JSON. */
export interface RouteAnswer {
  readonly status?: number
  readonly body?: JsonValue | object
  /** In place of `body`: a text that is written already, of `type`: JSON, which is the default, CSV, plain text or OpenMetrics. */
  readonly text?: string
  readonly type?: string
  /** In place of `body`: a page of HTML, without scripts and styles, which the content security policy forbids. */
  readonly page?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A route of the plugin, in the API document and checked like the hub's own: credential, access, rate, size, and its fields by
 * its schemas, which must be writable as JSON Schema and check without waiting (zod's are).
 */
export interface PluginRoute<Params, Query, Body, Access extends RouteAccess> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/plugins/{plugin}`, such as `/books/{id}`. Fixed words win over parameters. */
  readonly path: string
  /**
   * The path is whole and one that the definition claims; routes of the hub win over it. Its last parameter may be `{rest*}`, which
   * stands for any number of segments.
   */
  readonly whole?: true
  /** The route reads a credential of its own: the hub authenticates nobody, and `headers` has all. Only with access `public`. */
  readonly ownCredential?: true
  /** The route limits its callers by itself: requests do not count in the limit that callers without a credential have. */
  readonly ownLimit?: true
  /** Takes any query, which is in `search` alone. */
  readonly anyQuery?: true
  /** Section of the API document. Default `plugins`. */
  readonly tag?: string
  readonly access: Access
  readonly summary: string
  /** The texts of the path's parameters. */
  readonly params?: ConfigSchema<Params>
  /** Texts; a parameter that it does not name is refused. */
  readonly query?: ConfigSchema<Query>
  /** A JSON object; absent: the route reads no body. */
  readonly body?: ConfigSchema<Body>
  /** In place of `body`: most bytes of a body that is no JSON, such as a file; at most 64 MiB. */
  readonly rawBody?: number
  /** The error for a longer one, in the main thread. Default `body_too_large`. */
  tooLarge?(): HubError
  /** By status. */
  readonly answers: Readonly<Record<number, RouteAnswerKind>>
  /** Changes nothing, as GET: open to keys that may only read. */
  readonly reads?: true
  /** Bytes of the body, at most 1 MiB, which is the default. */
  readonly bodyLimit?: number
  /** Milliseconds for an answer from a worker. Default 2,000. */
  readonly timeoutMs?: number
  /** Keeps an audit record `{plugin}.{audit}` of each call that succeeded. */
  readonly audit?: string
  handle(request: RouteRequest<Params, Query, Body, Access>): RouteAnswer | Promise<RouteAnswer>
}

/** Adds routes until the plugin stops. Throws Error for one that is not valid or there already. */
export interface PluginRoutes {
  add<Access extends RouteAccess, Params = Record<string, string>, Query = unknown, Body = undefined>(
    route: PluginRoute<Params, Query, Body, Access>,
  ): void
}
