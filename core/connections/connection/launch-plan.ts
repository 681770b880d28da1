import type { JsonObject } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import type { Era } from '../../domain/era.ts'
import type { Redactor } from '../../secrets/redact.ts'
import type { ChildSpec } from '../spawn/child-program.ts'
import type { CarriedCredential } from './carried-credential.ts'
import type { ConnectionEvents } from './connection-events.ts'
import type { LentHeaders } from './lent-headers.ts'

/** A program to start, before its session and user are known. */
export type PlannedChild = Omit<ChildSpec, 'sessionId' | 'foreignUserId'>

/** Everything that one start needs, validated and with variables filled in. */
export interface LaunchPlan {
  readonly serverId: string
  readonly settings: ServerSettings
  readonly module: string
  readonly kind: 'messages' | 'answers'
  /** See `EffectiveServer`. */
  readonly askedVersion?: string
  /** True when servers of this transport may speak either era. */
  readonly modern: boolean
  readonly config: JsonObject
  /** Headers of the providers, which `config` has already. */
  readonly lent: LentHeaders
  /** The credential of the connection's user. */
  readonly credential?: CarriedCredential
  /** The inline OpenAPI document for the placeholder in `config`, as UTF-8; see `withDocument`. */
  readonly document?: Uint8Array
  readonly readDocument?: () => Promise<Uint8Array>
  readonly child: PlannedChild | undefined
  readonly ownerId: string
  /** True when its owner is an administrator. */
  readonly admin: boolean
  readonly startTimeoutMs: number
  /** True when the process itself installs packages before it answers, which the hub cannot observe. */
  readonly installs: boolean
  /** Redacts the secrets of this configuration, and the keys that header providers gave it. */
  readonly redactor: Redactor
}

/** Options of one connection of a plan. */
export interface LaunchOptions {
  readonly era: Era
  /** JSON of tools of earlier lists, for the headers that their schemas define. */
  readonly knownTools?: string
  /** The session or user of a dedicated connection; absent: the shared one. */
  readonly session?: { readonly key: string; readonly userId?: string }
  /** Client capabilities declared to the upstream; only a `session` gets server requests. Absent: `SHARED_APPS`. */
  readonly offers?: JsonObject
  /** Use an isolated thread, even if the server's settings do not ask for one. */
  readonly isolate?: boolean
  /** True to read the lists. */
  readonly catalog: boolean
  readonly events: ConnectionEvents
}
