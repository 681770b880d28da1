import { type Alerts, type AlertsDeps, createAlerts } from '../alerts/create.ts'
import type { Assistant } from '../assistant/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { SettingsFile } from '../config/settings-file.ts'
import { Dashboards } from '../dashboards/dashboards.ts'
import type { PluginHost } from '../plugin-host/host.ts'
import type { OpenKinds } from '../registry/owned/open-kinds.ts'
import type { HubLog } from '../telemetry/log.ts'
import { type FollowedRecords, followFileRecords } from './file-records.ts'
import { droppedOf, type Meters } from './meters.ts'

/** Parts of which alerts and dashboards consist. */
export interface MonitoringParts
  extends Pick<AlertsDeps, 'registry' | 'store' | 'bus' | 'sealer' | 'log' | 'upstreams' | 'instanceId'> {
  readonly config: Pick<HubConfig, 'outboundAllow' | 'outboundProxy'>
  readonly settings: Pick<SettingsFile, 'state'>
  readonly plugins: Pick<PluginHost, 'contributions'>
  readonly hubLog: HubLog
  readonly meters: Meters
  /** Its endpoints of the settings file are followed too. */
  readonly assistant: Pick<Assistant, 'mirror'>
  readonly kinds: Pick<OpenKinds, 'all' | 'added'>
  /** Disposes of them. */
  readonly undo: AsyncDisposableStack
}

/** Alerts and dashboards, with those of the settings file. Alerts are evaluated once they `begin`. */
export async function openMonitoring(
  parts: MonitoringParts,
): Promise<{ readonly alerts: Alerts; readonly dashboards: Dashboards; readonly fileRecords: FollowedRecords }> {
  const { config, settings, plugins, hubLog, meters, assistant, kinds, undo, ...rest } = parts
  const { store, bus, log } = rest
  const alerts = createAlerts({
    ...rest,
    custom: meters.custom,
    usage: () => meters.system.usage(),
    droppedRecords: () => droppedOf(hubLog.sinks()),
    onRecord: counted => hubLog.onCounted(counted),
    delivered: (type, result) => meters.metrics.delivery(type, result),
    types: () => plugins.contributions('notificationChannel'),
    metrics: () => plugins.contributions('alertMetric'),
    outboundAllow: config.outboundAllow,
    outboundProxy: config.outboundProxy,
  })
  undo.defer(() => alerts.dispose())
  const dashboards = new Dashboards(store)
  const mirrors = [alerts, dashboards, assistant]
  const fileRecords = await followFileRecords({ settings, mirrors, kinds, bus, log })
  undo.defer(() => fileRecords.end())
  return { alerts, dashboards, fileRecords }
}
