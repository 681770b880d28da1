import type { ServerRecord } from '../../contract/records.ts'
import { LATEST_LEGACY } from '../../domain/era.ts'
import type { DrainingConnections } from '../connection/draining-connections.ts'
import type { CallDispatcher } from './call-dispatcher.ts'
import type { CallerLists } from './caller-lists.ts'
import type { LegacySide } from './legacy-side.ts'
import type { ProtocolFindings } from './protocol-findings.ts'
import type { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerDriver } from './server-driver.ts'
import type { Latency, ServerHealth } from './server-health.ts'
import type { ServerLists } from './server-lists.ts'
import type { ServerState } from './server-state.ts'
import type { SharedConnection } from './shared-connection.ts'

/** The objects of one server, each with one task. What happens to one of them reaches the others as an event. */
export interface ServerParts {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  readonly driver: ServerDriver
  /** The published part of the state. */
  readonly serverState: ServerState
  readonly health: ServerHealth
  readonly latency: Latency
  readonly shared: SharedConnection
  /** The era and the transport that the server speaks. */
  readonly protocol: ProtocolFindings
  /** Former connections whose calls have not ended. */
  readonly draining: DrainingConnections
  readonly slots: CallDispatcher
  readonly lists: ServerLists
  readonly asking: ServerAsking
  /** The legacy side of a server that speaks both eras. */
  readonly older: LegacySide
  /** The lists of users who bring credentials of their own. */
  readonly callers: CallerLists
}

/** The protocol version negotiated with the hub, as far as known. */
export function versionOf({ shared, lists, callers }: Pick<ServerParts, 'shared' | 'lists' | 'callers'>): string {
  return (shared.opened ?? lists.catalog ?? callers.opened)?.protocolVersion ?? LATEST_LEGACY
}
