import type { CredentialSource } from '../auth/api.ts'

/** Facts about a request that are known before its handler runs. */
export interface RequestInfo extends CredentialSource {
  readonly requestId: string
  /** The client's address, after trusted proxies; IPv4-mapped IPv6 as IPv4. */
  readonly clientAddress: string
  /** True when the peer is a trusted proxy. */
  readonly viaProxy: boolean
  /** True when a peer that is not a trusted proxy sent forwarding headers. */
  readonly untrustedForwarding: boolean
  /** The hub's address for this client: scheme, host and base path, without a slash at the end. */
  readonly baseUrl: string
  /** True when it started in a later turn of the event loop than it arrived in. Default false. */
  readonly startedLate?: boolean
  /** Disables the idle timeout of this connection; for streams. */
  keepOpen(): void
  /**
   * Upgrades the request to a WebSocket. Returns false if it is not an upgrade request or the server cannot; nothing was sent
   * then.
   */
  upgrade?(handler: SocketHandler): boolean
}

/** The hub's end of one WebSocket. */
export interface Socket {
  /** Bytes that were sent and not received yet. */
  readonly waitingBytes: number
  /** False when the peer reads too slowly and the text was dropped. */
  send(text: string): boolean
  /** Sends a ping; a peer that did not answer the last two is disconnected. */
  ping(): void
  close(code: number, reason?: string): void
}

/** Handles text frames; the server itself handles binary ones, frames over the limit and floods. */
export interface SocketHandler {
  open(socket: Socket): void
  message(socket: Socket, text: string): void
  /** The peer reads again after a dropped `send`. */
  drain(socket: Socket): void
  /** The peer answered a ping. */
  pong?(socket: Socket): void
  /** Called once, whichever side closed it. `code`: of the close frame. */
  close(socket: Socket, code: number): void
}
