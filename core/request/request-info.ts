import type { CredentialSource } from '../auth/api.ts'

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
