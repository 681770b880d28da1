import type { z } from 'zod'
import type { CredentialSource } from '../auth/api.ts'
import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import type { JsonLimits } from '../domain/json-guard.ts'

export type Access = 'public' | 'user' | 'admin'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What one request is known to be before a handler sees it. */
export interface RequestInfo extends CredentialSource {
  readonly requestId: string
  /** The client's address, after trusted proxies; IPv4-mapped IPv6 as IPv4. */
  readonly clientAddress: string
  /** Whether forwarding headers came from a peer that is not a trusted proxy. */
  readonly untrustedForwarding: boolean
  /** How clients reach the hub for this request: scheme, host and base path, without a slash at the end. */
  readonly baseUrl: string
  /** Takes the idle limit off this one connection; for streams. */
  keepOpen(): void
  /** Turns the request into a WebSocket. False when it is no upgrade, or the server cannot; nothing was sent then. */
  upgrade?(handler: SocketHandler): boolean
}

/** The hub's end of one WebSocket. */
export interface Socket {
  /** What was sent and not taken yet, in bytes. */
  readonly waitingBytes: number
  /** False when the peer reads too slowly and the text was dropped. */
  send(text: string): boolean
  /** Asks for a sign of life; a peer that gave none since the last two times is cut off. */
  ping(): void
  close(code: number, reason?: string): void
}

/** Text frames only; binary ones, frames over the limit and floods are answered by the server itself. */
export interface SocketHandler {
  open(socket: Socket): void
  message(socket: Socket, text: string): void
  /** The peer reads again after a `send` that was refused. */
  drain(socket: Socket): void
  /** Once, whoever ended it. */
  close(socket: Socket): void
}

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
