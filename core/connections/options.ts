import type { Kysely } from 'kysely'
import type { HubConfig } from '../config/schema.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { TransportContribution } from '../contract/points.ts'
import type { OpenPrograms } from '../domain/server/programs.ts'
import type { EventBus } from '../events/bus.ts'
import type { CredentialSource, HeaderProvider } from '../features/credentials.ts'
import type { ContentFilter } from '../features/filters.ts'
import type { AuditRegistry, ServerRegistry, ShareRegistry, UserRegistry } from '../registry/api.ts'
import type { ServerRedactors } from '../secrets/server-redactors.ts'
import type { Tables } from '../store/tables.ts'
import type { Upstreams } from './api.ts'
import type { GarbageWatch } from './process/garbage-watch.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import type { BaseEnv } from './spawn/children.ts'

/** Dependencies and settings of `createConnections`. */
export interface ConnectionsOptions {
  readonly registry: {
    readonly servers: Pick<ServerRegistry, 'list' | 'byId' | 'effective'>
    readonly users: Pick<UserRegistry, 'byId'>
    readonly shares: Pick<ShareRegistry, 'reachOf'>
    readonly audit: Pick<AuditRegistry, 'record'>
  }
  readonly store: { readonly db: Kysely<Tables> }
  readonly bus: EventBus
  readonly config: Pick<
    HubConfig,
    | 'workers'
    | 'stdioPolicy'
    | 'outboundAllow'
    | 'outboundProxy'
    | 'dataDir'
    | 'registries'
    | 'registriesCa'
    | 'startTimeoutMs'
  >
  readonly sandbox: Sandbox
  /** Programs that plugins store; absent: there are none. */
  readonly programs?: OpenPrograms
  readonly transports: () => ReadonlyMap<string, TransportContribution>
  /** Absent: there are none. */
  readonly credentialSources?: () => ReadonlyMap<string, CredentialSource>
  readonly headerProviders: () => ReadonlyMap<string, HeaderProvider>
  /** Absent: there are none. */
  readonly filters?: () => ReadonlyMap<string, ContentFilter>
  readonly log: PluginLogger
  /** Holds the secrets of each server while it is used. */
  readonly redactors: ServerRedactors
  /** Counts the bytes received from workers; absent: not counted. */
  readonly garbage?: Pick<GarbageWatch, 'message'>
  readonly instanceId: string
  readonly isOwnMark?: (mark: string) => boolean
  /** Variables of the hub's own environment that children get: PATH, HOME, LANG. */
  readonly baseEnv: BaseEnv
  /** Called for each thread with connections that ended unexpectedly. */
  readonly workerEnded?: () => void
  /** Returns numbers between 0 and 1; for tests. Default Math.random. */
  readonly random?: () => number
  /** Intervals at which the pool checks its threads; for tests. */
  readonly watch?: { readonly pingMs: number; readonly silenceMs: number }
  /** Longest time from a start to the end of the handshake, whatever is configured; for tests. */
  readonly startTimeoutMs?: number
  /** False: servers are not probed for server requests, for tests of other things. Default true. */
  readonly probes?: boolean
  /** See `ChildrenOptions`. */
  readonly freeDescriptors?: () => number | undefined
  /** Carries children's bytes through main; for tests. */
  readonly relay?: boolean
}

/** `Upstreams` with the lifecycle that the hub calls. */
export interface Connections extends Upstreams {
  /** Holds the servers of the store, so that calls find them, and wait. Connects none and writes nothing. */
  load(): Promise<void>
  /** Ends processes of an earlier run, and starts the loaded servers that are enabled. Does not wait for them. */
  begin(): Promise<void>
  /** Rejects new calls, and resolves when none is in flight or after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>
  /** Ends every connection, process and thread. */
  dispose(): Promise<void>
}
