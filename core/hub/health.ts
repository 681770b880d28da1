import type { DescriptorReserve } from '../config/descriptor-reserve.ts'
import type { LoadedConfig } from '../config/load.ts'
import { descriptorShortage } from '../connections/process/descriptors.ts'
import type { Sandbox } from '../connections/sandbox/sandbox.ts'
import { createHealthChecks, pluginChecks } from '../http/health-checks.ts'
import type { HealthDeps } from '../http/routes/hub/health.ts'
import type { PluginHost } from '../plugin-host/host.ts'
import type { Store } from '../store/open.ts'
import type { HubLog } from '../telemetry/log.ts'
import { MONITORED } from './bundled.ts'
import { pingInPlace, type WriteState } from './refusals.ts'

/** The parts of the hub that its health depends on. */
export interface HealthSources {
  readonly loaded: Pick<LoadedConfig, 'config'>
  readonly store: Pick<Store, 'ping'>
  readonly locks: Pick<WriteState, 'lock' | 'databaseLock'>
  readonly hubLog: Pick<HubLog, 'failing'>
  readonly plugins: Pick<PluginHost, 'list' | 'contributions'>
  readonly reserve: Pick<DescriptorReserve, 'free'>
  readonly sandbox: Pick<Sandbox, 'present' | 'notes'>
}

/** Returns the checks of `/health`, those of plugins included. */
export function healthDeps(sources: HealthSources): Pick<HealthDeps, 'checks' | 'healthChecks'> {
  const { loaded, store, locks, hubLog, plugins, reserve, sandbox } = sources
  const { healthChecks } = MONITORED
  const checks = createHealthChecks({
    // A lost data folder is an error with PostgreSQL too: it contains the keys.
    pingStore: () => pingInPlace({ draining: false, ...locks }, store),
    log: () => ({ toFile: loaded.config.logFile !== undefined, failing: hubLog.failing }),
    ofPlugins: () => pluginChecks(healthChecks, plugins.contributions('healthCheck')),
    anyPluginFailed: () => plugins.list().some(plugin => plugin.state === 'failed'),
    descriptorShortage: () => descriptorShortage(reserve.free),
    sandbox: () => sandbox,
  })
  return { checks, healthChecks }
}
