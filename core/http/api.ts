import type { RequestInfo, SocketHandler } from '../request/request-info.ts'

/** The connection of a request, as the server sees it. */
export interface Peer {
  readonly address: string
  /** Disables the idle timeout of this connection. */
  keepOpen(): void
  /** Upgrades the request to a WebSocket; false when that fails. Absent when the server does not support WebSockets. */
  upgrade?(handler: SocketHandler): boolean
}

/** A request that the guard accepted. */
export interface Admitted {
  /** The canonical path below the base path, still percent-encoded; begins with `/`. */
  readonly path: string
  readonly info: RequestInfo
  /** The request's Origin, when it differs from the hub's own and ALLOWED_ORIGINS lists it; `*` for discovery. */
  readonly corsOrigin: string | undefined
  /** Set by the server, for `info`. */
  startedLate?: boolean
}

/** The checks before every route and upgrade: Host, Origin, canonical path, forwarded headers. */
export interface RequestGuard {
  /**
   * Throws HubError: host_not_allowed, origin_not_allowed, path_invalid, header_duplicate, headers_too_large,
   * token_in_url, route_not_found (outside the base path).
   */
  admit(request: Request, peer: Peer): Admitted
}
