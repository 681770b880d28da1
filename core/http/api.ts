import type { RequestInfo, SocketHandler } from '../request/request-info.ts'

/** The socket's side of a request, as the server knows it. */
export interface Peer {
  readonly address: string
  /** Takes the idle limit off this one connection. */
  keepOpen(): void
  /** Turns the request into a WebSocket; false when that cannot be. Absent where the server has none. */
  upgrade?(handler: SocketHandler): boolean
}

export interface Admitted {
  /** The canonical path below the base path, still percent-encoded; begins with `/`. */
  readonly path: string
  readonly info: RequestInfo
  /** The request's Origin, when it is another than the hub's own and ALLOWED_ORIGINS lists it. */
  readonly corsOrigin: string | undefined
}

/** The check that stands before every route and upgrade: Host, Origin, canonical path, forwarded headers. */
export interface RequestGuard {
  /**
   * Throws HubError: host_not_allowed, origin_not_allowed, path_invalid, header_duplicate, headers_too_large, token_in_url,
   * route_not_found (outside the base path).
   */
  admit(request: Request, peer: Peer): Admitted
}
