import type { ErrorCode } from '../../../contract/errors.ts'
import type { ConnectionState } from '../../../contract/records.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'

/**
 * The phase of one server's life, with the state that is published for it:
 *
 * - `loading` (connecting): it should run, and what earlier runs of the hub have stored of it is being read
 * - `stopped` (offline): it should not run
 * - `asleep` (offline): it should run, and connects with the next call
 * - `waiting` (offline): the last attempt or connection failed, and the next attempt is scheduled
 * - `failed` (offline): only a change of its configuration, of a role or of the plugins can help
 * - `preparing` (connecting): an attempt checks, resolves and probes; there is no connection yet
 * - `handshaking` (connecting): the connection is being opened
 * - `listing` (connecting): calls can be sent, and its lists are read for the first time
 * - `online` (online)
 * - `ending` (as before): calls can no longer be sent, and the connection's end follows
 */
export const SERVER_PHASES = [
  'loading',
  'stopped',
  'asleep',
  'waiting',
  'failed',
  'preparing',
  'handshaking',
  'listing',
  'online',
  'ending',
] as const
export type ServerPhase = (typeof SERVER_PHASES)[number]

/** The memory of one server's state machine. */
export interface MachineState {
  readonly phase: ServerPhase
  /** True when the server should run. */
  readonly wanted: boolean
  /** True while connected only to read the lists of a lazy server: it sleeps again when no call comes. */
  readonly listsOnly: boolean
  /** Number of times that its connection was opened. */
  readonly connections: number
  /** Failed attempts since it was last connected. */
  readonly attempts: number
  /** True when a call starts the next attempt at once, instead of waiting for its time. */
  readonly wakes?: boolean
  /** Code of the published reason. */
  readonly reasonCode?: ErrorCode
}

/** The step after an end or a failed attempt. `delayMs` undefined: no automatic retry. */
export type Verdict =
  /** The next attempt begins now; `reason` is published where there is one. */
  | { readonly kind: 'now'; readonly reason?: WireError }
  /** `wakes`: a call starts the next attempt at once. */
  | {
      readonly kind: 'offline'
      readonly reason: WireError
      readonly delayMs: number | undefined
      readonly wakes?: boolean
    }

/** Everything that can change the state of a server. */
export type ServerEvent =
  // From its users, its record and the clock.
  /** Stored data was read. `sleeps`: it is lazy and its lists are known. */
  | { readonly type: 'loaded'; readonly lazy: boolean; readonly sleeps: boolean }
  | { readonly type: 'start' }
  | { readonly type: 'stop'; readonly reason: WireError }
  | { readonly type: 'restart' }
  /** Another connection is to be open alone. The shared one, which is unused, ends, and opens again after it. */
  | { readonly type: 'give-way' }
  | { readonly type: 'refresh' }
  /** The record says that it should run; `configured` or `forbidden` follows. */
  | { readonly type: 'enabled' }
  /** Its configuration was read again. `differs`: from that of the last connection; `listsKept`: not from that of the lists. */
  | { readonly type: 'configured'; readonly differs: boolean; readonly listsKept: boolean; readonly lazy: boolean }
  /**
   * Its use is forbidden until its configuration, a role or the plugins change. `callers`: it is so for the shared connection
   * alone, and those of callers stay or, of a former configuration, drain.
   */
  | { readonly type: 'forbidden'; readonly reason: WireError; readonly callers?: 'stay' | 'drain' }
  /** The credential of the shared connection must not be used any more; callers have their own. */
  | { readonly type: 'credential-lost' }
  /** A call arrived that has no connection, and may start an attempt. */
  | { readonly type: 'call' }
  /** `outdated`: it was found to speak another version or transport; `idle`: it was not used for its idle time. */
  | { readonly type: 'tick'; readonly outdated: boolean; readonly idle: boolean }
  | { readonly type: 'retry-due' }
  // From its connection.
  | { readonly type: 'attempt-failed'; readonly verdict: Verdict }
  | { readonly type: 'launched' }
  /** Calls can be sent. */
  | { readonly type: 'opened' }
  /** A reading of its lists has ended; `again`: another one follows. */
  | { readonly type: 'lists-read'; readonly again: boolean; readonly failed: WireError | undefined }
  /** The time for its first reading is over. */
  | { readonly type: 'lists-late' }
  /** Its lists were read, and no call has used the connection. */
  | { readonly type: 'unused' }
  /** Its lists, or those of its legacy side, contain this hub's own. `retryMs`: delay of the next attempt. */
  | { readonly type: 'loop-found'; readonly retryMs: number | undefined }
  | { readonly type: 'unusable' }
  | { readonly type: 'ended'; readonly verdict: Verdict }

/** One effect, carried out by the objects of the server. Effects of a transition run in order. */
export type ServerEffect =
  /** Publishes the state. `reason` 'kept': the one that is published now stays. */
  | {
      readonly do: 'publish'
      readonly state: ConnectionState
      readonly reason?: WireError | 'kept'
      readonly nextAttemptInMs?: number
    }
  | { readonly do: 'connect' }
  | { readonly do: 'disconnect'; readonly reason: WireError }
  /** Takes the connection out of use: it ends with the calls that it has. */
  | { readonly do: 'drain'; readonly reason: WireError }
  | { readonly do: 'schedule-retry'; readonly delayMs: number }
  | { readonly do: 'cancel-retry' }
  /** Starts the time limit of the first reading. */
  | { readonly do: 'await-lists' }
  | { readonly do: 'stop-awaiting-lists' }
  /** A reading begins with the connection. */
  | { readonly do: 'expect-lists' }
  | { readonly do: 'read-lists' }
  | { readonly do: 'abandon-lists' }
  /** Sends calls over the connection, the queued ones first. */
  | { readonly do: 'send-calls' }
  | { readonly do: 'hold-calls' }
  | { readonly do: 'fail-waiting-calls' }
  /** Ends the connections of sessions and users, and all that drain. */
  | { readonly do: 'close-sessions'; readonly reason: WireError }
  /** Takes the connections of sessions and users out of use: each ends with the calls that it has. */
  | { readonly do: 'drain-sessions'; readonly reason: WireError }
  | { readonly do: 'set-limits' }
  | { readonly do: 'announce-connection'; readonly again: boolean }
  | { readonly do: 'abandon-probes' }
  | { readonly do: 'forget-legacy-side' }
  | { readonly do: 'forget-failures' }
  /** The attempt that begins is an extra one: its failure makes no later delay longer. */
  | { readonly do: 'excuse-failure' }
  | { readonly do: 'forget-transport' }
  | { readonly do: 'forget-health' }
  | { readonly do: 'health-lost'; readonly reason: WireError }

/** The state after an event, and what follows from it. */
export interface Transition {
  readonly state: MachineState
  readonly effects: readonly ServerEffect[]
}
