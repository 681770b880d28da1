import { LIMITS } from '../../config/limits.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import {
  askableCapabilities,
  declaredApps,
  listReaderCapabilities,
  SHARED_APPS,
  withChangingRoots,
} from '../../domain/client-capabilities.ts'
import type { Era } from '../../domain/era.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { SessionBinding } from '../api.ts'
import type { PendingCall } from '../connection/call.ts'
import type { Connection } from '../connection/connection.ts'
import type { Lost } from '../connection/connection-events.ts'
import { ConnectionSlot } from '../connection/connection-slot.ts'
import type { DrainingConnections } from '../connection/draining-connections.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import { RootsWait } from '../connection/roots-wait.ts'
import type { ConnectionTurns } from '../probe/connection-turns.ts'
import type { CallerLists } from './caller-lists.ts'
import type { LegacySide } from './legacy-side.ts'
import type { ProtocolFindings } from './protocol-findings.ts'
import type { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'

/** The parts of their server that dedicated connections use. */
export interface DedicatedConnectionsOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** The configuration with the transport in effect. */
  readonly effective: () => Promise<EffectiveServer>
  readonly era: () => Era
  /** The protocol version negotiated with the hub, as far as known. */
  readonly version: () => string
  /** True while the server's shared connection is open. */
  readonly online: () => boolean
  /** True while users can have a connection and the shared one cannot be opened. */
  readonly forCallers: () => boolean
  readonly protocol: Pick<ProtocolFindings, 'era' | 'opened' | 'ended'>
  /** JSON of the tools whose schemas map arguments to headers. */
  readonly knownTools: () => string
  readonly input: (call: PendingCall, text: string) => void
  readonly lost: (call: PendingCall, how: Lost, reason: WireError) => void
  readonly answered: (call: PendingCall) => void
  /** Gets notified of the server requests that the server sends. */
  readonly asking: ServerAsking
  /** Called with a call whose session gets no process of its own. */
  readonly shared: (call: PendingCall, reason: WireError) => void
  readonly older: Pick<LegacySide, 'asking' | 'version' | 'events' | 'ended'>
  readonly callers: Pick<CallerLists, 'events' | 'ended'>
  readonly draining: DrainingConnections
  readonly turns: Pick<ConnectionTurns, 'take'>
}

/** The owner of a connection: one client session, one lease, or all calls of one user. */
export interface DedicatedTo {
  readonly key: string
  readonly kind: SessionBinding['kind']
  readonly userId: string
}

/** One dedicated connection and its calls; it outlives losses of the connection. */
export interface SessionEntry {
  readonly slot: ConnectionSlot
  /** Holds its calls until the server knows the client's roots. */
  readonly roots: RootsWait
  readonly owner: DedicatedTo
  /** True for a connection of the server's legacy side. */
  readonly older: boolean
  /** Absent when the connection does not belong to one client session. */
  binding: SessionBinding | undefined
  /**
   * Hashes of the URIs subscribed to over this connection, which stays open for them. Rejected subscriptions count too,
   * so the set is bounded: the oldest is dropped first.
   */
  readonly subscriptions: Set<number | bigint>
  connection: Connection | undefined
  /** The server has asked over it for the client's roots. */
  asksRoots: boolean
  opening: boolean
  /** It has a process, or gets one: it counts towards the limits. */
  admitted: boolean
  /** When it was last opened or tried to open (`performance.now()`). */
  triedAtMs: number
  usedAtMs: number
  connectedBefore: boolean
  closed: boolean
  /** Its connection drains: calls that it does not answer are sent again where that is possible. */
  drains: boolean
  /** Ends its turn as the only connection to the server, in which others wait. */
  endTurn: (() => void) | undefined
  /** Until `untilMs` (`performance.now()`) its calls use the shared connection, for this reason. */
  shares: { readonly untilMs: number; readonly reason: WireError } | undefined
}

/** An entry without a connection. */
export function sessionEntry(owner: DedicatedTo, older: boolean, binding: SessionBinding | undefined): SessionEntry {
  return {
    slot: new ConnectionSlot(),
    roots: new RootsWait(),
    owner,
    older,
    binding,
    subscriptions: new Set(),
    connection: undefined,
    asksRoots: false,
    opening: false,
    admitted: false,
    triedAtMs: 0,
    usedAtMs: performance.now(),
    connectedBefore: false,
    closed: false,
    drains: false,
    shares: undefined,
    endTurn: undefined,
  }
}

/** Server requests are matched to a client only on a connection that is not shared: only those offer them. */
export function offersOf(
  { owner, binding, older }: SessionEntry,
  { settings }: EffectiveServer,
  versions: { readonly older: { readonly version: string }; version(): string },
): JsonObject {
  const version = older ? versions.older.version : versions.version()
  if (owner.kind === 'face') return listReaderCapabilities(settings.session, version)
  if (owner.kind === 'user' || !binding) return SHARED_APPS
  const askable = askableCapabilities(binding.capabilities, version)
  return {
    ...(owner.kind === 'lease' ? withChangingRoots(askable) : askable),
    ...declaredApps(binding.capabilities),
  }
}

/** Waits until its connection may start: programs start at the pace of the session's user, those of an administrator's own servers at none. */
export function startTurn(
  { starts }: Pick<ServerContext, 'starts'>,
  { owner }: Pick<SessionEntry, 'owner'>,
  { ownerId, ownerRole }: Pick<EffectiveServer, 'ownerId' | 'ownerRole'>,
  { child }: Pick<LaunchPlan, 'child'>,
): Promise<() => void> {
  if (owner.kind === 'face') return starts.acquire(ownerId)
  const paced = child !== undefined && !(ownerRole === 'admin' && owner.userId === ownerId)
  return starts.acquire(owner.userId, paced ? { atOnce: LIMITS.sessionStartsAtOnce } : {})
}

/** True when the tool that it is opened for has not yet answered a client with these capabilities. */
export function isUntried({ slot, binding }: SessionEntry, trials: ServerAsking['trials']): boolean {
  const { method, params } = slot.firstWaiting?.request ?? {}
  const tool = method === 'tools/call' ? params?.name : undefined
  return typeof tool !== 'string' || !binding || trials.isUntried(binding.capabilities, tool)
}
