import type { GuardedFetch } from '../contract/fetch.ts'
import type { JsonObject } from '../contract/json.ts'
import type { OpenWebSocket, SocketRequest } from '../features/services/sockets.ts'
import type { WireError } from './wire-error.ts'

/**
 * The worker-side half of a transport. A module named by a `transport` contribution exports one of these as `default`,
 * made with {@link defineTransport}. It runs in a connection worker; it never starts a process and never opens a
 * connection by itself: `io` does both, under the hub's rules.
 */
export interface MessageTransportDefinition {
  readonly kind: 'messages'
  /** Opens one link. Resolves when messages can be sent; rejects with a HubError when that fails. */
  open(config: JsonObject, io: TransportIo): Promise<MessageLink>
}

/**
 * A transport whose upstream does not use MCP: it lists tools and answers calls itself, and the hub presents it like any other
 * server. Runs in a connection worker too, under the same rules.
 */
export interface AnswerTransportDefinition {
  readonly kind: 'answers'
  /** Resolves when calls can be answered; rejects with a HubError when they cannot. */
  open(config: JsonObject, io: AnswerIo): Promise<AnswerLink>
}

/** One of both kinds of transport; `kind` distinguishes them. */
export type TransportDefinition = MessageTransportDefinition | AnswerTransportDefinition

/** One open link to one upstream that carries JSON-RPC texts (one message each). */
export interface MessageLink {
  /**
   * Sends one JSON-RPC message.
   * `id` is set for a request, so that messages on the same stream can be related to it.
   * `headers` of this one message, for transports over HTTP: those of the caller that the server allows
   * (`passthroughHeaders`), and from version 2026-07-28 on the `mcp-*` headers that repeat parts of the text. A
   * repeated set is the same frozen object.
   * Never throws on a closed link: it reports by `io.closed` instead.
   */
  send(text: string, id?: number, headers?: Readonly<Record<string, string>>): void
  /**
   * The protocol version is negotiated; HTTP sends it as a header from now on. From 2026-07-28 on this is called before
   * the first message, and there are no sessions, no streams but those of requests, and no resumption.
   */
  settled?(protocolVersion: string): void
  /**
   * The caller cancelled this request; a transport may close its stream. From 2026-07-28 on a transport with this
   * method must: it is the only signal, while one without it gets `notifications/cancelled` to send.
   */
  abandoned?(id: number): void
  /** Closes the link gracefully (HTTP: DELETE of the session). Resolves when nothing is left open; at most 2 s. */
  close(): Promise<void>
}

/** One upstream for which a transport answers calls. */
export interface AnswerLink {
  readonly serverInfo: { readonly name: string; readonly version: string }
  readonly instructions?: string | undefined
  /** The tools in MCP's form, and warnings for the server's owner about parts that are left out or invalid. */
  tools(): { readonly tools: readonly JsonObject[]; readonly warnings: readonly string[] }
  /**
   * Answers one tools/call. Rejects with a HubError when there is no result: `tool_not_found`, `params_invalid`
   * (nothing was sent then), `connection_lost`, `upstream_timeout` and other failures of the exchange.
   */
  call(call: AnswerCall): Promise<AnswerResult>
  /** Reads the tools again. A rejection is reported, and the tools known before stay. */
  refresh?(signal: AbortSignal): Promise<void>
  /**
   * Checks that the upstream is alive; rejects when it is not. May return those of `healthEndpoints` that the upstream
   * does not have, each with its status. Absent: it cannot be checked.
   */
  alive?(signal: AbortSignal): Promise<readonly string[] | undefined>
  /** Resolves when nothing is left open; at most 2 s. */
  close(): Promise<void>
}

/** One tools/call to answer. */
export interface AnswerCall {
  readonly name: string
  /** Numbers that JSON would write in another way (`1.0`, `1e400`, beyond 2⁵³) are `JSON.rawJSON` objects. */
  readonly arguments: JsonObject
  /** Aborts when the caller cancelled or the call timed out. */
  readonly signal: AbortSignal
  /** The caller's headers that the server allows (`passthroughHeaders`), lower-case names. */
  readonly headers: Readonly<Record<string, string>>
}

/** The result of one tools/call. */
export interface AnswerResult {
  /** JSON text of the result, on one line. */
  readonly text: string
  readonly isError: boolean
  /** A sentence for the record of the call, such as what of the arguments was not sent. */
  readonly note?: string
}

/** Functions that the hub provides for an `AnswerLink`. */
export interface AnswerIo {
  /** Aborts when the link must end at once. */
  readonly signal: AbortSignal
  /** The guarded fetch: applies address rules, time and size limits of the server's owner. */
  readonly fetch: GuardedFetch
  /** Connects to the address of this URL under the same rules and closes: nothing is sent. Rejects when that fails. */
  readonly reach: (url: string, signal: AbortSignal) => Promise<void>
  /** Longest response that the server's owner allows, in bytes; it may change. */
  readonly maxResultBytes: number
  /** Paths of the upstream for health checks (`healthCheck.endpoints`). */
  readonly healthEndpoints: readonly string[]
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}

/** Functions that the hub provides for a `MessageLink`. */
export interface TransportIo {
  /** Aborts when the link must end at once. */
  readonly signal: AbortSignal
  /** Bytes of a child that the main thread spawned for this link; absent for transports without a child. */
  readonly child?: ChildPipe
  /** Longest message that the server's owner allows, in bytes; it may change. */
  readonly maxResultBytes: number
  /** The guarded fetch: applies address rules, time and size limits of the server's owner. */
  readonly fetch: GuardedFetch
  /** The guarded WebSocket, under the same rules. */
  readonly connect: GuardedConnect
  /** Delivers one message text from the upstream. `related` is the id of the request whose stream carried it. */
  message(text: string, related?: number): void
  /**
   * A message was longer than that and was dropped; the link continues. The call that it answers fails; if that is
   * unknown and exactly one response is pending, that call fails. `related` as for {@link message}.
   */
  tooLong(message: LongMessage, related?: number): void
  /** The link has ended for good. Called once. Calls in flight fail with this reason. */
  closed(reason: WireError): void
  /**
   * The upstream or its session is lost: the link sends no more requests, but those in flight may get their answers over it. The
   * hub opens another link beside this one, and closes this one with the last of them, after 30 s at the latest.
   */
  lost(reason: WireError): void
  /** One request failed though the link continues (its own HTTP exchange failed). */
  failed(id: number, reason: WireError, options?: { readonly notSent?: boolean }): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
  /**
   * The upstream deviates from its transport in a way that the link takes all the same. `how` becomes a part of a warning that
   * the server's owner sees: "its …" or "it …". Absent: nobody wants to know.
   */
  deviates?(how: string): void
}

/**
 * Opens a WebSocket (RFC 6455, text messages, no extensions) to a `ws` or `wss` address that the server's owner may reach; no
 * redirect is followed, and the server must answer within 10 s. Rejects with a HubError, as {@link GuardedFetch} does.
 */
export type GuardedConnect = (url: string, request: LinkSocketRequest) => Promise<OpenWebSocket>

/** Options of a WebSocket of a link, which it closes with. */
export interface LinkSocketRequest extends Omit<SocketRequest, 'closed'> {
  /**
   * Called for a longer message, which was dropped; the connection continues. Without this function it is closed with 1009 as
   * soon as a message becomes too long.
   */
  tooLong?(message: LongMessage): void
  /** Called at the head of each frame of any kind, with the bytes of its payload; false closes the connection with 1008. */
  admits?(bytes: number): boolean
  /** It has ended, from either side; `code`: of the server's close frame. Called once, and never before it was open. */
  closed(reason: WireError, code?: number): void
}

/** Facts about a message that was too long to be kept. */
export interface LongMessage {
  /** The numeric ids of the requests that it answers. */
  readonly answers: readonly number[]
  /** JSON of the ids of the requests that it makes. */
  readonly requests: readonly string[]
  /** True when it holds a request or a notification. */
  readonly hasMethod: boolean
}

/** A child's stdin and stdout as seen from the thread that carries its bytes. */
export interface ChildPipe {
  /** Called with the lines of stdout, without their ends; set before the first byte is read. */
  onLine(handler: (line: string) => void): void
  /**
   * Writes a text to stdin; the writes of one tick are joined. False: the text was rejected, since the child has not read
   * `upstreamWriteBacklogBytes` of earlier text.
   */
  write(text: string): boolean
  /** Closes stdin, upon which most servers end. */
  end(): void
}

/** Returns the definition unchanged, with its types checked. */
export function defineTransport<T extends TransportDefinition>(definition: T): T {
  return definition
}
