import type { WireError } from './errors.ts'
import type { JsonObject } from './json.ts'

/**
 * The worker-side half of a transport. A module named by a `transport` contribution exports one of these as
 * `default`, made with {@link defineTransport}. It runs in a connection worker; it never starts a process and never
 * opens a connection by itself: `io` does both, under the hub's rules.
 */
export interface MessageTransportDefinition {
  readonly kind: 'messages'
  /** Opens one link. Resolves when messages can be sent; rejects with a HubError when that fails. */
  open(config: JsonObject, io: TransportIo): Promise<MessageLink>
}

/**
 * A transport whose upstream speaks no MCP: it lists tools and answers calls itself, and the hub presents it like any
 * other server. Runs in a connection worker too, under the same rules.
 */
export interface AnswerTransportDefinition {
  readonly kind: 'answers'
  /** Resolves when calls can be answered; rejects with a HubError when they cannot. */
  open(config: JsonObject, io: AnswerIo): Promise<AnswerLink>
}

export type TransportDefinition = MessageTransportDefinition | AnswerTransportDefinition

/** One open link to one upstream, moving JSON-RPC texts (one message each). */
export interface MessageLink {
  /**
   * Sends one JSON-RPC message.
   * `id` is set for a request, so that what comes back on the same stream can be told as related to it.
   * `headers`: those of this one message, for transports over HTTP: what the server lets through (`passthroughHeaders`),
   * and from version 2026-07-28 on the `mcp-*` headers that repeat parts of the text. A set that comes again is the same
   * frozen object.
   * Never throws for a link that is gone: it reports by `io.closed` instead.
   */
  send(text: string, id?: number, headers?: Readonly<Record<string, string>>): void
  /**
   * The peer's protocol version is settled; HTTP sends it as a header from now on. From 2026-07-28 on this is told before
   * the first message, and there are no sessions, no stream but those of requests, and no resumption.
   */
  settled?(protocolVersion: string): void
  /**
   * The caller of this request gave up; a transport may drop its stream. From 2026-07-28 on a transport that has this must:
   * it is the only sign, while one that has it not gets `notifications/cancelled` to send.
   */
  abandoned?(id: number): void
  /** Ends the link in good order (HTTP: DELETE of the session). Resolves when nothing is left open; at most 2 s. */
  close(): Promise<void>
}

/** One upstream that a transport answers for. */
export interface AnswerLink {
  readonly serverInfo: { readonly name: string; readonly version: string }
  readonly instructions?: string | undefined
  /** The tools as MCP defines them, and what was left out or is odd, for the server's owner. */
  tools(): { readonly tools: readonly JsonObject[]; readonly warnings: readonly string[] }
  /**
   * Answers one tools/call. Rejects with a HubError for what is no result: `tool_not_found`, `params_invalid` (nothing was
   * sent then), `connection_lost`, `upstream_timeout` and other failures of the exchange.
   */
  call(call: AnswerCall): Promise<AnswerResult>
  /** Learns anew what there is. What it rejects with is reported, and the tools known before stay. */
  refresh?(signal: AbortSignal): Promise<void>
  /** Asks whether the upstream lives; rejects when it does not. Absent: nothing can be asked. */
  alive?(signal: AbortSignal): Promise<void>
  /** Nothing is open any more when it resolves; at most 2 s. */
  close(): Promise<void>
}

export interface AnswerCall {
  readonly name: string
  /** Numbers that JSON would write in another way (`1.0`, `1e400`, beyond 2⁵³) are `JSON.rawJSON` objects. */
  readonly arguments: JsonObject
  /** Aborts when the caller gave up or the time is over. */
  readonly signal: AbortSignal
  /** Those of this one call that the server lets through (`passthroughHeaders`), lower-case names. */
  readonly headers: Readonly<Record<string, string>>
}

export interface AnswerResult {
  /** JSON text of the result, on one line. */
  readonly text: string
  readonly isError: boolean
}

export interface AnswerIo {
  /** Aborts when the link must go away at once. */
  readonly signal: AbortSignal
  /** The guarded fetch: address rules, time and size limits of the server's owner hold. */
  readonly fetch: GuardedFetch
  /** Connects to the address of this URL under the same rules and closes: nothing is sent. Rejects when that fails. */
  readonly reach: (url: string, signal: AbortSignal) => Promise<void>
  /** Longest answer that the server's owner wants, in bytes; it may change. */
  readonly maxResultBytes: number
  /** Paths of the upstream by which its health is told (`healthCheck.endpoints`). */
  readonly healthEndpoints: readonly string[]
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}

export interface TransportIo {
  /** Aborts when the link must go away at once. */
  readonly signal: AbortSignal
  /** Bytes of a child that the main thread spawned for this link; absent for transports that need none. */
  readonly child?: ChildPipe
  /**
   * The server may send requests of its own, since the client behind this link can answer some. A transport whose server sends
   * them elsewhere than on a call's stream has that open before the first call goes out, as far as it can.
   */
  readonly asks: boolean
  /** Longest message that the server's owner wants, in bytes; it may change. */
  readonly maxResultBytes: number
  /** The guarded fetch: address rules, time and size limits of the server's owner hold. */
  readonly fetch: GuardedFetch
  /** Delivers one message text from the upstream. `related` is the id of the request whose stream carried it. */
  message(text: string, related?: number): void
  /**
   * A message was longer than that and was dropped; the link lives on. The call that it answers fails; where that cannot be told
   * and exactly one answer is awaited, that one does. `related` as for {@link message}.
   */
  tooLong(message: LongMessage, related?: number): void
  /** The link is gone and will not come back. Called once. Calls that are in flight fail with this. */
  closed(reason: WireError): void
  /** One request cannot be answered any more though the link lives on (its own HTTP exchange failed). */
  failed(id: number, reason: WireError, options?: { readonly notSent?: boolean }): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}

/** What could be told of a message that was too long to be kept. */
export interface LongMessage {
  /** The numeric ids of the requests that it answers. */
  readonly answers: readonly number[]
  /** JSON of the ids of the requests that it makes. */
  readonly asks: readonly string[]
  /** It holds a request or a notification. */
  readonly hasMethod: boolean
}

/** A child's stdin and stdout as seen from the thread that carries its bytes. */
export interface ChildPipe {
  /** Called with the lines of stdout, without their ends; set before the first byte is read. */
  onLine(handler: (line: string) => void): void
  /** Writes a text to stdin; the writes of one tick leave as one. */
  write(text: string): void
  /** Closes stdin, which asks most servers to end. */
  end(): void
}

export interface GuardedRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
  /** Milliseconds until the response head must have come. */
  readonly headTimeoutMs?: number
  /** Milliseconds of silence allowed within the body; 0 for a stream without a limit. */
  readonly idleTimeoutMs?: number
  /** Longest body that is read as a whole, in decoded bytes; at most 64 MiB. Default 10 MiB. */
  readonly maxBytes?: number
}

export interface GuardedResponse {
  readonly status: number
  /** Lower-case names; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>
  /** The whole body as UTF-8. Beyond `maxBytes` it throws `result_too_large` with `data.maxBytes`. */
  text(): Promise<string>
  /** The same as it is. Either of the two, and once. */
  bytes(): Promise<Uint8Array>
  /** The body as it comes, decoded as UTF-8 without cutting a character. Ends by `done`; either call, not both. */
  stream(handlers: { chunk(text: string): void; done(error?: unknown): void }): void
  /** Drops the body and the socket. */
  cancel(): void
}

export type GuardedFetch = (url: string, request: GuardedRequest) => Promise<GuardedResponse>

export function defineTransport<T extends TransportDefinition>(definition: T): T {
  return definition
}
