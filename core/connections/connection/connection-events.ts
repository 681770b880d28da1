import type { JsonObject } from '../../contract/json.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { AskClient } from '../api.ts'
import type { HealthReport, ListEntry, ListKind, ListsRead, OpenedMessage } from '../protocol.ts'
import type { PendingCall } from './call.ts'

/** Why and how a connection ended. */
export interface ConnectionEnd {
  readonly reason: WireError
  /** True when it had been open. */
  readonly wasOpen: boolean
  /** True when its process exited by itself. */
  readonly exited: boolean
  /** True when its worker thread ended. */
  readonly workerLost: boolean
  /** The line that its process wrote to stderr about its failure. Absent where it wrote none. */
  readonly said?: string
}

/**
 * The way in which a call was lost. `begun`: the upstream may have seen it; `not-begun`: its connection had ended; `not-sent`:
 * the transport rejected it before it was written; `repaired`: the upstream rejected its headers, which are fixed now.
 */
export type Lost = 'begun' | 'not-begun' | 'not-sent' | 'repaired'

/** Handlers for the events of one connection; called in the main thread. */
export interface ConnectionEvents {
  opened(message: OpenedMessage): void
  /** No call can be sent any more; `ended` follows shortly. */
  unusable(): void
  ended(end: ConnectionEnd): void
  /**
   * The server or its session is lost while calls are in flight, which may still get their answers. The handler sends no more
   * calls, and closes the connection after the last of them. Neither `unusable` nor `ended` follows. Absent: the connection ends.
   */
  retired?(reason: WireError): void
  /** A call got no response; the handler sends it again or fails it with this reason. */
  lost(call: PendingCall, how: Lost, reason: WireError): void
  /** The server requests input before it responds; `text` is its whole result. */
  input(call: PendingCall, text: string): void
  answered(call: PendingCall): void
  /** Sends a server request that names no call to the connection's only client; absent: to the newest call's caller. */
  readonly asked?: AskClient | undefined
  /** The server sent a server request that the client supports. */
  serverRequest?(method: string): void
  /** The server sent a server request that was not offered, and it was rejected; called once for each method. */
  rejectedRequest?(method: string): void
  /** A tool failed, or the server returned an error; `text` is the JSON of the result or error. */
  failedCall?(text: string): void
  /** A health check has ended; only called for the connection that reads the lists. */
  health?(report: HealthReport): void
  /** The next items of a list that is being read; returns the reason when no more is accepted. */
  list(kind: ListKind, entries: readonly ListEntry[]): string | undefined
  catalog(read: ListsRead): void
  stale(): void
  notification(method: string, params: JsonObject | undefined): void
  /** The server sent a log message, in a call or outside of one. It is delivered as any notification besides. */
  said?(params: JsonObject | undefined): void
  /** `count` messages of the server were malformed, the last one as `detail` says; called once a second at most. */
  malformed?(detail: string, count: number): void
  /** The first text over the connection that is no JSON-RPC, such as a log line on standard output. */
  stray?(line: string): void
  /** The server deviates from its transport, in a way that the hub takes. */
  deviates?(how: string): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}
