import type { WireError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { AskClient } from '../api.ts'
import type { HealthReport, ListEntry, ListKind, ListsRead, OpenedMessage } from '../protocol.ts'
import type { PendingCall } from './call.ts'

export interface ConnectionEnd {
  readonly reason: WireError
  /** It had been open. */
  readonly wasOpen: boolean
  /** Its process ended by itself. */
  readonly exited: boolean
  /** Its thread ended. */
  readonly workerLost: boolean
}

/**
 * How a call came back unanswered: the upstream may have seen it; it met a connection that had ended; the transport
 * knows that it was refused before it was written; the upstream refused its form, which is mended by now.
 */
export type Lost = 'begun' | 'not-begun' | 'not-sent' | 'repaired'

export interface ConnectionEvents {
  opened(message: OpenedMessage): void
  /** No call can be sent any more; `ended` follows within a moment. */
  unusable(): void
  ended(end: ConnectionEnd): void
  /** A call came back unanswered; whoever hears it sends it again or fails it with this reason. */
  lost(call: PendingCall, how: Lost, reason: WireError): void
  /** The server wants to hear more before it answers; `text` is its whole result. */
  input(call: PendingCall, text: string): void
  answered(call: PendingCall): void
  /** The server asks the client that has the connection alone, naming no call; absent: the newest call's caller is asked. */
  readonly asked?: AskClient
  /** The server asks a client something, and the client can be asked it. */
  asks?(method: string): void
  /** The server asked what nobody had offered, and was refused; once for each method. */
  refusedAsk?(method: string): void
  /** A tool failed, or the server refused a request; `text` is the JSON of the result or error. */
  failedCall?(text: string): void
  /** It was asked whether it lives; only of the connection that reads the lists. */
  health?(report: HealthReport): void
  /** The next items of a list that is being read; returns why no more of it is taken, if so. */
  list(kind: ListKind, entries: readonly ListEntry[]): string | undefined
  catalog(read: ListsRead): void
  stale(): void
  notification(method: string, params: JsonObject | undefined): void
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string): void
}
