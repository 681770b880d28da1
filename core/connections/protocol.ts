import type { WireError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { CacheHint } from '../domain/cache-hint.ts'
import type { Era } from '../domain/era.ts'
import type { CatalogItem } from '../domain/tools/catalog-item.ts'
import type { ProcessMark } from './process/process-tree.ts'

/**
 * What crosses a worker's port. Rare messages are objects; all that belongs to a call is a *frame*, a line of text, and
 * the frames of one tick travel as one string joined by line ends (a structured clone of a small object costs three
 * times as much as a string). JSON texts inside a frame hold no raw line end.
 *
 * Main to worker:
 * - `c<conn> <id> <json>` one request, the whole JSON-RPC text
 * - `h<conn> <id> <length> <headers><json>` the same with headers of this one call, JSON of `length` characters
 * - `v<conn> <id> <length> <headers><json>` the same from a caller of the modern era, who wants the result as it is
 * - `x<conn> <id> <json string>` the caller gave up; the reason
 * - `s<conn> <json>` a notification toward the upstream
 * - `a<conn> <ask> <json>` the answer to the upstream's request `ask`: `{"result":…}` or `{"error":…}`
 *
 * Worker to main:
 * - `r<conn> <id> <0|1|2> <json>` the result as the caller's era writes it; 1: a tool said isError, 2: the upstream asks
 *   for input first. A long one comes as an object instead
 * - `e<conn> <id> <json>` the upstream's error object
 * - `f<conn> <id> <0|1|2> <code> <message>` the hub's own failure; 1: the request had not begun; 2: it was refused for
 *   what is known better by now, and should go out once more
 * - `n<conn> <id> <json>` progress of a call: its params
 * - `m<conn> <id or 0> <json>` another notification, `{method, params}`; 0: it came on no call's own stream
 * - `q<conn> <id or 0> <ask> <json>` a request of the upstream, `{method, params}`; 0: it came on no call's own stream
 * - `d<conn> <ask>` the upstream withdrew it
 */
export type Frame = string

export type ToWorker =
  | { readonly type: 'hello'; readonly instanceId: string; readonly version: string }
  | OpenMessage
  | { readonly type: 'close'; readonly conn: number }
  | ({ readonly type: 'limits'; readonly conn: number } & LinkLimits)
  /** Without `kinds`: all lists. */
  | { readonly type: 'refresh'; readonly conn: number; readonly kinds?: readonly ListKind[] }
  /** The part of a list that came last was taken, and the next may come; `full`: no more of that list. */
  | { readonly type: 'list-taken'; readonly conn: number; readonly kind: ListKind; readonly full?: string }
  /** A long result of the owner was handled, and as much may come anew. */
  | { readonly type: 'result-taken'; readonly owner: string; readonly bytes: number }
  | { readonly type: 'ping' }
  | { readonly type: 'child-exited'; readonly conn: number; readonly detail: string }
  /** Bytes of a child whose descriptors could not be handed over. */
  | { readonly type: 'bytes'; readonly conn: number; readonly bytes: Uint8Array }

/** What may change of an open connection. */
export interface LinkLimits {
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  readonly maxResultBytes: number
  readonly liveness: Liveness
}

export interface OpenMessage extends LinkLimits {
  readonly type: 'open'
  readonly conn: number
  readonly era: Era
  /** User id: what its servers may cost together is counted by it. */
  readonly owner: string
  /** JSON of those tools of earlier lists whose arguments go out as headers too, to a server of the modern era. */
  readonly knownTools?: string
  /** For messages to people. */
  readonly name: string
  /** file: URL of the transport's worker half. */
  readonly module: string
  /** The kind of that half; see `TransportDefinition`. */
  readonly kind: 'messages' | 'answers'
  readonly config: JsonObject
  /** What is taken out of all that the worker says of the upstream, but for its answers to calls. */
  readonly secrets: readonly string[]
  /** The inline OpenAPI document that `config` holds the stand-in of, as UTF-8. */
  readonly document?: Uint8Array
  /** What the upstream is told that the client can be asked. */
  readonly capabilities: JsonObject
  /** One client has the connection alone and answers for `capabilities`. Else whatever the upstream asks is refused at once. */
  readonly asks: boolean
  readonly startTimeoutMs: number
  /** Paths of the upstream that are asked for signs of life. */
  readonly healthEndpoints: readonly string[]
  /** Read the lists once the connection is open. */
  readonly catalog: boolean
  readonly rights: { readonly networks: readonly string[]; readonly admin: boolean }
  /** How the child's bytes come: descriptors that the worker owns from now on, or through main. */
  readonly child?:
    | { readonly kind: 'descriptors'; readonly pid: number; readonly read: number; readonly write: number }
    | { readonly kind: 'relay'; readonly pid: number }
}

export interface Liveness {
  /** Milliseconds of silence before a question; 0: only when an exchange has failed. */
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Questions in a row without an answer after which the connection counts as lost. */
  readonly misses: number
  /** `intervalMs` is the time between two questions, whatever is heard meanwhile. */
  readonly always: boolean
}

/** What came of one question whether an upstream lives. */
export interface HealthReport {
  /** When it was over, ISO 8601 UTC. */
  readonly at: string
  readonly durationMs: number
  /** Failures in a row, this one included. */
  readonly misses: number
  /** Absent: it lives. */
  readonly error?: WireError
}

export type FromWorker =
  | { readonly type: 'ready' }
  | LongResult
  | { readonly type: 'pong' }
  /** The descriptors of this connection belong to the worker now. */
  | { readonly type: 'taken'; readonly conn: number }
  | OpenedMessage
  | ({ readonly type: 'failed'; readonly conn: number; readonly error: WireError } & LastLook)
  /** `begun`: the calls that were in flight. What main sent besides them and is not answered by now had not begun. */
  | ({
      readonly type: 'closed'
      readonly conn: number
      readonly reason: WireError
      readonly begun: readonly number[]
    } & LastLook)
  | ListPart
  | ListsRead
  /** The lists are being read again because the upstream said that they changed. */
  | { readonly type: 'stale'; readonly conn: number }
  | {
      readonly type: 'log'
      readonly conn: number
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly message: string
    }
  /** The upstream asked a client, and this one was offered nothing; once for each method. */
  | { readonly type: 'refused'; readonly conn: number; readonly method: string }
  /** Of the connection that reads the lists: whether the upstream lives. */
  | { readonly type: 'health'; readonly conn: number; readonly report: HealthReport }
  | { readonly type: 'write'; readonly conn: number; readonly text: string }
  | { readonly type: 'end'; readonly conn: number }

/** What `r` says of a call, whose text is too long for a frame; main answers with `result-taken`. */
export interface LongResult {
  readonly type: 'result'
  readonly conn: number
  readonly id: number
  readonly isError: boolean
  readonly owner: string
  /** UTF-8, handed over. */
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** The next items of a list that is being read. The next part of this list follows when this one was taken. */
export interface ListPart {
  readonly type: 'list'
  readonly conn: number
  readonly kind: ListKind
  readonly entries: readonly ListEntry[]
}

/** A number: the item at this place of the list that this connection handed over before. */
export type ListEntry = CatalogItem | number

/** The lists have been read; their items came before, in parts. */
export interface ListsRead {
  readonly type: 'catalog'
  readonly conn: number
  readonly lists: ListsOutcome
  /** Those of which the upstream had said that they changed before they were read. */
  readonly noticed: readonly ListKind[]
  /** Some of it is stale again: another reading follows. */
  readonly more: boolean
}

/** What was below the child just before its input was closed, by which most programs end. */
export interface LastLook {
  readonly below?: readonly ProcessMark[]
}

export interface OpenedMessage {
  readonly type: 'opened'
  readonly conn: number
  readonly protocolVersion: string
  readonly serverInfo: JsonObject
  readonly capabilities: JsonObject
  readonly instructions?: string
  /** What a server of the modern era said about keeping these. */
  readonly caching?: CacheHint
  /** What of this was left out at a limit. */
  readonly warnings?: readonly string[]
}

export type ListKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

/** What came of one reading. */
export interface ListsOutcome {
  /** Those that are whole. */
  readonly read: readonly ListKind[]
  /** Those that could not be read for a reason that passes. */
  readonly again: readonly ListKind[]
  readonly warnings: readonly string[]
  /** Marks of the hubs that they came through. */
  readonly instances?: readonly string[]
  /** Why the first of those that could not be read was not. */
  readonly failed?: WireError
  /** What a server of the modern era said about keeping the lists that were read. */
  readonly caching?: Readonly<Partial<Record<ListKind, CacheHint>>>
  /** Of answers large enough to count, in characters. */
  readonly bytes: number
  readonly items: number
}

/** Calls `each` for every frame of a joined string. */
export function eachFrame(joined: string, each: (frame: Frame) => void): void {
  let start = 0
  let end = joined.indexOf('\n')
  while (end !== -1) {
    each(joined.slice(start, end))
    start = end + 1
    end = joined.indexOf('\n', start)
  }
  each(start === 0 ? joined : joined.slice(start))
}

/** Reads the digits at `from`; the caller knows that a space follows them. */
export function readNumber(text: string, from: number): number {
  let value = 0
  for (let at = from; ; at += 1) {
    const digit = text.charCodeAt(at) - 48
    // NaN at the end of the text fails both comparisons.
    if (!(digit >= 0 && digit <= 9)) return value
    value = value * 10 + digit
  }
}
