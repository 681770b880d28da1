import type { PluginLogger, RegistryView } from '../../core/contract/plugin.ts'
import { EventBus } from '../../core/events/bus.ts'
import { PluginHost } from '../../core/plugin-host/host.ts'
import type { PluginHostOptions } from '../../core/plugin-host/host-options.ts'
import { CustomMetrics } from '../../core/telemetry/custom-metrics.ts'
import { emptyTransports } from './transports.ts'

const QUIET: PluginLogger = { debug() {}, info() {}, warn() {}, error() {} }

/** A plugin host without plugins, a registry and a log, but for what `options` say. `folder`: where paths resolve from. */
export function pluginHost(options: Pick<PluginHostOptions, 'folder'> & Partial<PluginHostOptions>): PluginHost {
  return new PluginHost({
    transports: emptyTransports(),
    bundled: [],
    entries: [],
    registry: {} as RegistryView,
    bus: new EventBus(error => {
      throw error
    }),
    log: () => QUIET,
    custom: new CustomMetrics(),
    outbound: { rights: { networks: [], admin: true }, instanceId: 'test' },
    ...options,
  })
}
