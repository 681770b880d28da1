import type { JsonObject } from '../contract/json.ts'

declare module '../contract/events.ts' {
  interface PluginEvents {
    /** The state of an assistant endpoint, such as `connected`, `backing_off` and `refused`. */
    'assistant.state': { endpointId: string; name: string; state: string }
  }
}

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    bridge: Bridge
  }
}

/** Serves the hub's tools to assistants over a wire of their own: one link for each endpoint that is on. */
export interface Bridge {
  serve(endpoint: BridgeEndpoint): BridgeLink
  /** The tools as the assistant would get them now. Rejects with HubError as `open` does. Absent: unknown. */
  preview?(endpoint: BridgeEndpoint): Promise<BridgePreview>
  /** The steps of a test of an endpoint that has no link, within 25 s. Never rejects. */
  test?(endpoint: BridgeEndpoint): Promise<readonly BridgeTestStep[]>
}

/** The tools that an assistant gets. */
export interface BridgePreview {
  readonly tools: readonly JsonObject[]
  /** Names of the tools beyond the limits. */
  readonly leftOut: readonly string[]
}

/** One step of a test, such as `target`, `tools`, `address`, `dial` and `handshake`. */
export interface BridgeTestStep {
  readonly name: string
  readonly outcome: 'ok' | 'failed' | 'skipped'
  readonly durationMs: number
  /** Code of a failure, as in errors; of other outcomes the code of the sentence in `detail`, for translations. */
  readonly code?: string
  /** Values in `detail`, for translations by the code. */
  readonly params?: Readonly<Record<string, string | number>>
  readonly detail?: string
}

/** The connection of an assistant to a group, with the present rights of the endpoint's owner. */
export interface BridgeEndpoint {
  readonly name: string
  /** Version of the hub. */
  readonly version: string
  /** `outbound`: the hub dials the platform. `inbound`: the platform, or a device, dials the hub. */
  readonly direction: 'outbound' | 'inbound'
  /** Tools that are offered, 1 to 64, and characters of a result's text, 100 to 2,000. */
  readonly limits: { readonly tools: number; readonly resultCharacters: number }
  /** Writes to the hub's log; the owner may read it too. */
  report(level: 'info' | 'warn', message: string): void
  /** Rejects with HubError while the owner may not use what the endpoint is bound to. */
  open(events: { changed(): void; ended(): void }): Promise<BridgeSession>
  /**
   * Outbound: opens a WebSocket to the platform, and closes it when `signal` aborts. Rejects with HubError,
   * `authorization_required` for HTTP 401 and 403.
   */
  dial(events: BridgeSocketEvents, signal: AbortSignal): Promise<BridgeSocket>
  /** Outbound: checks that the owner's assistants may reach the host of the address. Rejects with HubError. */
  checkAddress(): Promise<void>
  /** Must be called when the link's state has changed. */
  stateChanged(): void
}

/** MCP for one endpoint. */
export interface BridgeSession {
  /** The first `most` tools at most, as clients of the group see them. */
  tools(most: number): Promise<readonly JsonObject[]>
  /** Resolves with the server's answer. Rejects with HubError. */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<BridgeAnswer>
  close(): void
}

/** A result, or a JSON-RPC error of the server. */
export type BridgeAnswer = { readonly result: JsonObject } | { readonly error: { code: number; message: string } }

/** One WebSocket with an assistant. */
export interface BridgeSocket {
  /** False: it reads too slowly, and the text was dropped. */
  send(text: string): boolean
  ping(): void
  close(code: number, reason?: string): void
}

/** Handlers for the events of a socket. */
export interface BridgeSocketEvents {
  message(text: string): void
  /** A frame of any kind was received. */
  alive(): void
  /** The code of the close frame, if there was one. Called once. */
  closed(code: number | undefined): void
}

/** An endpoint that is served. */
export interface BridgeLink {
  /** Inbound: takes over a socket; an earlier one is closed. */
  accept(socket: BridgeSocket): BridgeSocketEvents
  reconnect(): void
  /** `{state, since, …}`. */
  status(): JsonObject
  /** The latest messages on it, without contents. */
  messages(): readonly JsonObject[]
  /** Tests the endpoint as `Bridge.test` does; never opens a second connection beside an open one. */
  test?(): Promise<readonly BridgeTestStep[]>
  /** Ends it after its calls, at most `graceMs` later. `code`: of the close frame. Calls nothing afterwards. */
  close(code: number, graceMs: number): Promise<void>
}
