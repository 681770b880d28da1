import type { z } from 'zod'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import type { JsonLimits } from '../domain/json/json-guard.ts'
import type { JsonText } from '../domain/json/long-text.ts'
import type { RequestInfo } from '../request/request-info.ts'

/** Callers that a route allows: anybody, any authenticated user, or administrators. */
export type Access = 'public' | 'user' | 'admin'
/** The methods that a route may have; HEAD is answered by GET. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Argument of a handler: the request and its validated fields. */
export interface RouteContext<Params, Query, Body> {
  readonly request: Request
  readonly info: RequestInfo
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Reads the bytes of the body of a route with `rawBody`. Throws `body_too_large` and what else reading throws. */
  readBody(): Promise<Uint8Array>
  /**
   * Charges the caller for bytes from which the answer is built, until the answer is complete; the answer's own bytes are
   * charged after that. Call it before the memory is used. Throws `quota_bytes`, `overloaded`.
   */
  take(bytes: number): void
}

/** The parts of a long body; each is in memory of its own. */
export interface PulledParts {
  /** Bytes of the largest part, which are charged to the caller until the body's end. */
  readonly partBytes: number
  /** Reads the next part. Undefined at the end. When it rejects, the connection ends. */
  next(): Promise<Uint8Array<ArrayBuffer> | undefined>
}

/** A response. Default: status 200, no body. More than 64 KiB are charged to the caller until they are read. */
export interface Reply {
  readonly status?: number
  /** Sent as JSON. */
  readonly body?: JsonValue | object
  /** A body that is written already; the pipeline takes ownership of it. */
  readonly text?: JsonText
  /** A long body that is read while the client receives it; sent unchanged, not compressed. */
  readonly parts?: PulledParts
  /** The content type of `text` or `parts`. Default `application/json`. */
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One response of a route in the API document. */
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
  /** Undeclared query parameters are ignored. Default: they are rejected. */
  readonly anyQuery?: true
  /** Absent: the route has no body. */
  readonly body?: z.ZodType<Body>
  /** Bytes; default 1 MiB. */
  readonly bodyLimit?: number
  /** The body is not JSON, and has at most this many bytes; the handler reads it. */
  readonly rawBody?: number
  readonly responses: Readonly<Record<number, ResponseSpec>>
  /** Counts against the caller's rate, as each route below `/api` does. */
  readonly rated?: true
  /** Counts as reading for keys with scope `api:read`; default: method is GET. */
  readonly reads?: boolean
  /** Also allows access keys without a scope for the API: the handler checks the groups that they open. */
  readonly keysOfGroups?: true
  /** Also allows users who must change their password first. */
  readonly beforePasswordChange?: true
  /** Limits of the body's JSON where they differ from the defaults, and its parts that contain foreign data. */
  readonly json?: JsonLimits
  /**
   * Handles a WebSocket upgrade of this path by `info.upgrade`. Without a credential in the headers `actor` is
   * undefined, whatever `access` is: the handler must then accept only a credential in the first message.
   */
  upgrade?(
    context: RouteContext<Params, Query, undefined> & { readonly actor: UserActor | undefined },
  ): void | Promise<void>
  /** The route has credentials of its own, not those of a user: the hub authenticates nobody. */
  readonly ownCredential?: true
}

/** A route without a required credential; its handler gets the actor if there is one. */
export interface PublicRoute<P, Q, B> extends RouteBase<P, Q, B> {
  readonly access: 'public'
  handle(
    context: RouteContext<P, Q, B> & { readonly actor: UserActor | undefined },
  ): Promise<Reply | Response> | Reply | Response
}

/** A route that requires a credential; others get 401 or 403. */
export interface UserRoute<P, Q, B> extends RouteBase<P, Q, B> {
  readonly access: 'user' | 'admin'
  handle(context: RouteContext<P, Q, B> & { readonly actor: UserActor }): Promise<Reply | Response> | Reply | Response
}

/** A route with erased types; the table of these is the access table and the source of the API document. */
export type Route = PublicRoute<never, never, never> | UserRoute<never, never, never>

/**
 * Declares one route. The schemas validate the request, and the API document is generated from them. A public route's
 * handler gets the actor when the request has a credential.
 */
export function route<P = Record<string, never>, Q = Record<string, never>, B = undefined>(
  spec: PublicRoute<P, Q, B> | UserRoute<P, Q, B>,
): Route {
  return spec as unknown as Route
}
