import type { HubError } from '../../contract/errors.ts'

/** Options of a WebSocket, and handlers of what comes over it. */
export interface SocketRequest {
  /** Sent with the request that opens it; those of the connection itself cannot be set. */
  readonly headers?: Readonly<Record<string, string>>
  /** Subprotocols; the server must choose one of them, or none if there are none. */
  readonly protocols?: readonly string[]
  /** Closes it when it aborts. It also closes with the plugin. */
  readonly signal?: AbortSignal
  /** Longest message, in bytes; a longer one closes the connection with 1009. Default 10 MiB, at most 64. */
  readonly maxBytes?: number
  /** One text message. */
  message(text: string): void
  /** Called for each frame of any kind. */
  alive?(): void
  /** It has ended, from either side; `code`: of the server's close frame. Called once, and never before it was open. */
  closed(reason: HubError, code?: number): void
}

/** An open WebSocket. */
export interface OpenWebSocket {
  /** The subprotocol that the server chose; empty if there is none. */
  readonly protocol: string
  /** Sends one text message; does nothing once it has ended. */
  send(text: string): void
  ping(): void
  /** Closes it with this status code, 1000 by default. Resolves when nothing is left open; at most 1 s. */
  close(code?: number): Promise<void>
}

/** Opens a WebSocket (`ws:` or `wss:`) under the hub's rules; rejects with a HubError as {@link GuardedFetch} does. */
export type GuardedDial = (url: string, request: SocketRequest) => Promise<OpenWebSocket>
