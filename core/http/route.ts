import type { z } from 'zod'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import type { JsonLimits } from '../domain/json/json-guard.ts'
import type { RequestInfo } from '../request/request-info.ts'

export type Access = 'public' | 'user' | 'admin'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RouteContext<Params, Query, Body> {
  readonly request: Request
  readonly info: RequestInfo
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status?: number
  readonly body?: JsonValue | object
  readonly headers?: Readonly<Record<string, string>>
}

export interface ResponseSpec {
  readonly description: string
  readonly schema?: z.ZodType
  readonly example?: unknown
  readonly contentType?: string
}

interface RouteBase<Params, Query, Body> {
  readonly method: Method
  /** `/api/servers/{ref}`; each parameter is one percent-decoded segment. */
  readonly path: string
  readonly summary: string
  readonly tag: string
  readonly params?: z.ZodType<Params>
  readonly query?: z.ZodType<Query>
  /** Parameters that the route does not declare are passed over. Default: they are refused. */
  readonly anyQuery?: true
  /** Absent: the route takes no body. */
  readonly body?: z.ZodType<Body>
  /** Bytes; default 1 MiB. */
  readonly bodyLimit?: number
  readonly responses: Readonly<Record<number, ResponseSpec>>
  /** Counts as reading for keys with scope `api:read`; default: method is GET. */
  readonly reads?: boolean
  /** Open to somebody who must change the password before anything else. */
  readonly beforePasswordChange?: true
  /** Limits of the body's JSON where they differ from the general ones, and its parts that are foreign data. */
  readonly json?: JsonLimits
  /**
   * Answers a WebSocket upgrade of this path by `info.upgrade`. Without a credential in the headers `actor` is undefined,
   * whatever `access` says: the handler then takes nothing but a credential in the first message.
   */
  upgrade?(context: RouteContext<Params, Query, undefined> & { readonly actor: UserActor | undefined }): void
}

export interface PublicRoute<P, Q, B> extends RouteBase<P, Q, B> {
  readonly access: 'public'
  handle(
    context: RouteContext<P, Q, B> & { readonly actor: UserActor | undefined },
  ): Promise<Reply | Response> | Reply | Response
}

export interface UserRoute<P, Q, B> extends RouteBase<P, Q, B> {
  readonly access: 'user' | 'admin'
  handle(context: RouteContext<P, Q, B> & { readonly actor: UserActor }): Promise<Reply | Response> | Reply | Response
}

/** A route after its types were checked; the table of these is the access table and the source of the API document. */
export type Route = PublicRoute<never, never, never> | UserRoute<never, never, never>

/**
 * Declares one route. The schemas validate the request, and the API document is generated from them.
 * A public route's handler gets the actor when a credential came with the request.
 */
export function route<P = Record<string, never>, Q = Record<string, never>, B = undefined>(
  spec: PublicRoute<P, Q, B> | UserRoute<P, Q, B>,
): Route {
  return spec as unknown as Route
}
