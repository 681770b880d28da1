import type { JsonObject } from '../contract/json.ts'
import type { PluginDefinition, PluginLogger, RegistryView } from '../contract/plugin.ts'
import type { OpenTransports } from '../domain/server/transports.ts'
import type { EventBus } from '../events/bus.ts'
import type { OpenAttached } from '../registry/attached.ts'
import type { CustomMetrics } from '../telemetry/custom-metrics.ts'
import type { OutboundRules } from './isolate-protocol.ts'
import type { PluginEntry } from './resolve.ts'
import type { HubServices } from './services/services.ts'

/** Dependencies and settings of the `PluginHost`. */
export interface PluginHostOptions {
  /** In the order in which they start. */
  readonly bundled: readonly PluginDefinition<unknown>[]
  readonly entries: readonly PluginEntry[]
  /** The folder from which npm names and relative paths are resolved. */
  readonly folder: string
  readonly registry: RegistryView
  /** Kept equal to the contributions to the point `transport`. */
  readonly transports: Pick<OpenTransports, 'add' | 'remove' | 'programs' | 'serverFields'>
  /** Kept equal to the contributions to the point `attachedSettings`; absent: there are none. */
  readonly attached?: OpenAttached
  readonly bus: EventBus
  readonly log: (plugin: string) => PluginLogger
  /** Counts the metrics of plugins. */
  readonly custom: Pick<CustomMetrics, 'add'>
  /** The addresses that `context.fetch` may reach; cloneable. */
  readonly outbound: OutboundRules
  /** The parts of the hub that plugins may use; absent: none. */
  readonly services?: HubServices
}

/** New settings of one plugin; absent members stay as they are. */
export interface PluginChange {
  readonly enabled?: boolean
  readonly config?: JsonObject
  readonly limits?: NonNullable<PluginEntry['limits']>
}
