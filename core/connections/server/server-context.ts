import { HubError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { EventBus } from '../../events/bus.ts'
import type { EffectiveServer, ShareRegistry } from '../../registry/api.ts'
import type { ServerRedactors } from '../../secrets/server-redactors.ts'
import type { UpstreamRecords } from '../../telemetry/upstream-records.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import type { Launcher } from '../connection/launcher.ts'
import type { Children } from '../spawn/children.ts'
import type { StartSlots } from '../start-slots.ts'
import type { AskingStore } from '../store/asking-store.ts'
import type { CatalogAccount } from '../store/catalog-account.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import type { EraStore } from '../store/era-store.ts'
import type { ToolDefinitions } from '../store/tool-definitions.ts'

/** Dependencies of the state machines of all servers. */
export interface SharedContext {
  readonly launcher: Launcher
  readonly children: Children
  readonly starts: StartSlots
  readonly catalogs: CatalogStore
  readonly account: CatalogAccount
  readonly eras: EraStore
  readonly askings: AskingStore
  /** Slots for probes of server requests; absent: no probe is made. */
  readonly probes?: StartSlots
  readonly definitions: ToolDefinitions
  readonly bus: EventBus
  readonly log: PluginLogger
  /** Logs what servers say. */
  readonly records: UpstreamRecords
  /** The users who may use a server, by itself or through a group. */
  readonly reachOf: ShareRegistry['reachOf']
  readonly effective: (serverId: string) => Promise<EffectiveServer>
  readonly redactors: Pick<ServerRedactors, 'of' | 'forget'>
  readonly random: () => number
  /** True when a hub mark in a list is this hub's own. */
  readonly isOwnMark: (mark: string) => boolean
}

/** Dependencies of one server's state machine. */
export interface ServerContext extends SharedContext {
  /** Redacts the server's own secrets in a text, and shows its hidden characters. */
  readonly redact: (text: string) => string
  /** The first text that is no MCP message, since the shared connection was last opened; at most 200 characters. */
  readonly stray: { first?: string | undefined }
  /** Deviations of the server from its transport, since the shared connection was last opened. */
  readonly deviations: Set<string>
}

/** The wire error of a failure; an internal fault of the hub is also logged in full. */
export function wireErrorOf(log: Pick<PluginLogger, 'error'>, error: unknown): WireError {
  if (!(error instanceof HubError)) log.error('A connection failed by a fault of the hub', { error: String(error) })
  return toWireError(error)
}
