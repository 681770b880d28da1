import type { HubError } from './errors.ts'

/** Options of one guarded request. */
export interface GuardedRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
  /** Milliseconds until the response head must have arrived. */
  readonly headTimeoutMs?: number
  /** Milliseconds of silence allowed within the body; 0 for a stream without a limit. */
  readonly idleTimeoutMs?: number
  /** Longest body that is read as a whole, in decoded bytes; at most 64 MiB. Default 10 MiB. */
  readonly maxBytes?: number
}

/** A response whose body is read once, by one of its methods. */
export interface GuardedResponse {
  readonly status: number
  /** Lower-case names; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>
  /** The whole body as UTF-8. Beyond `maxBytes` it throws `result_too_large` with `data.maxBytes`. */
  text(): Promise<string>
  /** The same as bytes. Either of the two, and once. */
  bytes(): Promise<Uint8Array>
  /** The body as it arrives, decoded as UTF-8 without cutting a character. Ends by `done`; either call, not both. */
  stream(handlers: { chunk(text: string): void; done(error?: unknown): void }): void
  /** Drops the body and the socket. */
  cancel(): void
}

/** Sends one request under the hub's rules; rejects with a HubError. */
export type GuardedFetch = (url: string, request: GuardedRequest) => Promise<GuardedResponse>

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
