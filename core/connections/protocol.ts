import type { JsonObject } from '../contract/json.ts'
import type { CacheHint } from '../domain/cache-hint.ts'
import type { Era } from '../domain/era.ts'
import type { ListKind } from '../domain/mcp-methods.ts'
import type { CatalogItem } from '../domain/tools/catalog-item.ts'
import type { CredentialChallenge } from '../features/credentials.ts'
import type { WireError } from '../transport-kit/wire-error.ts'
import type { ProcessMark } from './process/process-tree.ts'

export type { ListKind } from '../domain/mcp-methods.ts'

/** A rare message from main to a worker, sent as an object (calls are frames: `protocol/frames.ts`); `conn` is the number of the connection. */
export type ToWorker =
  | { readonly type: 'hello'; readonly instanceId: string; readonly version: string }
  | OpenMessage
  | { readonly type: 'close'; readonly conn: number }
  | ({ readonly type: 'limits'; readonly conn: number } & LinkLimits)
  /** Without `kinds`: all lists. */
  | { readonly type: 'refresh'; readonly conn: number; readonly kinds?: readonly ListKind[] }
  /** The latest part of a list was accepted, and the next may be sent; `full`: no more of that list. */
  | { readonly type: 'list-taken'; readonly conn: number; readonly kind: ListKind; readonly full?: string }
  /** A long result of the owner was handled, and this many more bytes may be sent. */
  | { readonly type: 'result-taken'; readonly owner: string; readonly bytes: number }
  /** All threads together hold too much for programs of this owner: the one with `least` bytes or more is ended. */
  | { readonly type: 'end-largest'; readonly owner: string; readonly least: number }
  | { readonly type: 'ping' }
  /** Other headers to carry; with `answers` it is the answer to `credential-refused`, which may be an error, or nothing. */
  | {
      readonly type: 'credential'
      readonly conn: number
      readonly answers: boolean
      readonly carried?: CarriedHeaders
      readonly error?: WireError
    }
  | { readonly type: 'child-exited'; readonly conn: number; readonly detail: string }
  /** Bytes of a child whose descriptors could not be passed to the worker. */
  | { readonly type: 'bytes'; readonly conn: number; readonly bytes: Uint8Array }

/** Headers of a user's credential. `version` 0: there are none. `secrets`: texts to redact. */
export interface CarriedHeaders {
  readonly headers: Readonly<Record<string, string>>
  /** The private key (JWK) of which each request carries a proof. */
  readonly proofKey?: JsonObject
  readonly version: number
  readonly secrets: readonly string[]
}

/** Limits that can be changed on an open connection. */
export interface LinkLimits {
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  readonly maxResultBytes: number
  readonly liveness: Liveness
}

/** Opens a connection; the worker responds with `opened` or `failed`. */
export interface OpenMessage extends LinkLimits {
  readonly type: 'open'
  readonly conn: number
  readonly era: Era
  /** The version for `initialize`, where the server is known to refuse the latest. */
  readonly askedVersion?: string
  /** User id, by which the total cost of an owner's servers is limited. */
  readonly owner: string
  /** JSON of tools of earlier lists whose arguments are also sent as headers, for a modern server. */
  readonly knownTools?: string
  /** Used in error messages. */
  readonly name: string
  /** file: URL of the transport's worker half. */
  readonly module: string
  /** The kind of that half; see `TransportDefinition`. */
  readonly kind: 'messages' | 'answers'
  readonly config: JsonObject
  /** Secrets to redact in everything that the worker reports of the upstream, except results of calls. */
  readonly secrets: readonly string[]
  /** The inline OpenAPI document for the placeholder in `config`, in UTF-8. */
  readonly document?: Uint8Array
  /** The client capabilities declared to the upstream. */
  readonly capabilities: JsonObject
  /** True for the connection of one client, which handles server requests. Otherwise they are rejected at once. */
  readonly takesServerRequests: boolean
  readonly startTimeoutMs: number
  /** Paths of the upstream that health checks poll. */
  readonly healthEndpoints: readonly string[]
  /** True to read the lists once the connection is open. */
  readonly catalog: boolean
  readonly rights: { readonly networks: readonly string[]; readonly admin: boolean }
  /** Set where a source of credentials may have a say about the server. */
  readonly credential?: CarriedHeaders
  /** It follows no redirect: a header is in its requests that is for that host alone. */
  readonly redirects?: 'none'
  /** The way in which the child's bytes arrive: by descriptors that the worker owns from now on, or through main. */
  readonly child?:
    | { readonly kind: 'descriptors'; readonly pid: number; readonly read: number; readonly write: number }
    | { readonly kind: 'relay'; readonly pid: number }
}

/** When an upstream is checked for being alive. */
export interface Liveness {
  /** Milliseconds of silence before a check; 0: only after a failed exchange. */
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Failed checks in a row after which the connection counts as lost. */
  readonly misses: number
  /** `intervalMs` is the time between two checks, even while messages arrive. */
  readonly always: boolean
}

/** The result of one health check. */
export interface HealthReport {
  /** When it ended, ISO 8601 UTC. */
  readonly at: string
  readonly durationMs: number
  /** Failures in a row, including this one. */
  readonly misses: number
  /** Absent: the check succeeded. */
  readonly error?: WireError
  /** Paths of `healthCheck.endpoints` that the server does not have, each with its status. Absent: not known yet. */
  readonly missing?: readonly string[]
}

/** A rare message from a worker to main; `conn` is the number of the connection. */
export type FromWorker =
  | { readonly type: 'ready' }
  | LongResult
  | { readonly type: 'pong' }
  /** The server refused the headers of this version. Main answers with `credential`. */
  | {
      readonly type: 'credential-refused'
      readonly conn: number
      readonly version: number
      readonly challenge: CredentialChallenge
    }
  /** Bytes that programs of this owner have not read yet, and the most of them for one. */
  | { readonly type: 'backlog'; readonly owner: string; readonly bytes: number; readonly largest: number }
  /** The worker now owns the descriptors of this connection. */
  | { readonly type: 'taken'; readonly conn: number }
  | OpenedMessage
  | ({ readonly type: 'failed'; readonly conn: number; readonly error: WireError } & RunningDescendants)
  /** `begun`: ids of the calls in flight. Any other unanswered call that main sent was not begun. */
  | ({
      readonly type: 'closed'
      readonly conn: number
      readonly reason: WireError
      readonly begun: readonly number[]
    } & RunningDescendants)
  /** The server or its session is lost: no more calls are sent, and those in flight may get their answers. Main closes it. */
  | { readonly type: 'retired'; readonly conn: number; readonly reason: WireError }
  | ListPart
  | ListsRead
  /** The lists are read again because the upstream sent list_changed. */
  | { readonly type: 'stale'; readonly conn: number }
  | {
      readonly type: 'log'
      readonly conn: number
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly message: string
    }
  /** This number of messages were malformed since the last report of the connection; `detail` describes the last one. */
  | { readonly type: 'malformed'; readonly conn: number; readonly detail: string; readonly count: number }
  /** The first text of the connection that is no JSON-RPC, at most 200 characters; sent once. */
  | { readonly type: 'stray'; readonly conn: number; readonly line: string }
  /** The upstream deviates from its transport, in a way that the hub takes; each is sent once, four of a connection at most. */
  | { readonly type: 'deviates'; readonly conn: number; readonly how: string }
  /** The upstream sent a server request on a connection that declared no capability for it; once for each method. */
  | { readonly type: 'refused'; readonly conn: number; readonly method: string }
  /** A health check of the connection that reads the lists has ended. */
  | { readonly type: 'health'; readonly conn: number; readonly report: HealthReport }
  | { readonly type: 'write'; readonly conn: number; readonly text: string }
  | { readonly type: 'end'; readonly conn: number }

/** A result whose text is too long for a frame; main responds with `result-taken`. */
export interface LongResult {
  readonly type: 'result'
  readonly conn: number
  readonly id: number
  readonly isError: boolean
  readonly owner: string
  /** UTF-8, transferred. */
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** The next items of a list that is being read. The next part of this list follows when this one was accepted. */
export interface ListPart {
  readonly type: 'list'
  readonly conn: number
  readonly kind: ListKind
  readonly entries: readonly ListEntry[]
}

/** A number: the item at this index of the list that this connection sent before. */
export type ListEntry = CatalogItem | number

/** The lists have been read; their items were sent before, in parts. */
export interface ListsRead {
  readonly type: 'catalog'
  readonly conn: number
  readonly lists: ListsOutcome
  /** Kinds for which a list_changed arrived before they were read. */
  readonly noticed: readonly ListKind[]
  /** Some of it is stale again: another reading follows. */
  readonly more: boolean
}

/** The descendants of the child just before its stdin was closed, at which most programs end. */
export interface RunningDescendants {
  readonly below?: readonly ProcessMark[]
}

/** The handshake result of an upstream. */
export interface OpenedMessage {
  readonly type: 'opened'
  readonly conn: number
  readonly protocolVersion: string
  readonly serverInfo: JsonObject
  readonly capabilities: JsonObject
  readonly instructions?: string
  /** The version that it was asked with, since it refuses the latest. */
  readonly askedVersion?: string
  /** Cache hints of a modern server for its handshake result. */
  readonly caching?: CacheHint
  /** Members that were left out at a limit, as texts. */
  readonly warnings?: readonly string[]
}

/** The result of one reading. */
export interface ListsOutcome {
  /** Kinds that were read completely. */
  readonly read: readonly ListKind[]
  /** Kinds that failed for a temporary reason. */
  readonly again: readonly ListKind[]
  readonly warnings: readonly string[]
  /** Marks of the hubs that they came through. */
  readonly instances?: readonly string[]
  /** The error of the first kind that failed. */
  readonly failed?: WireError
  /** Cache hints of a modern server for the lists that were read. */
  readonly caching?: Readonly<Partial<Record<ListKind, CacheHint>>>
  /** Total characters of large responses. */
  readonly bytes: number
  readonly items: number
}
