import type { Alerts } from '../../alerts/create.ts'
import type { Assistant } from '../../assistant/create.ts'
import type { LiveCredentials } from '../../auth/live-credentials.ts'
import type { Upstreams } from '../../connections/api.ts'
import type { Dashboards } from '../../dashboards/dashboards.ts'
import type { Transports } from '../../domain/server/transports.ts'
import type { EventBus } from '../../events/bus.ts'
import type { McpEndpoint } from '../../mcp/api.ts'
import type { BackupDownloads } from '../../moving/backup/download.ts'
import type { Registry } from '../../registry/api.ts'
import type { Route } from '../route.ts'
import { alertRoutes } from './alerts/alerts.ts'
import { assistantRoutes } from './assistant/assistant.ts'
import { dashboardRoutes } from './dashboards/dashboards.ts'
import { discoveryRoutes } from './discovery/discovery.ts'
import { type GroupRoutesDeps, groupRoutes } from './groups/groups.ts'
import { adminRoutes } from './hub/admin.ts'
import { type HealthDeps, healthRoutes } from './hub/health.ts'
import { type LoggingView, loggingRoutes } from './hub/logging.ts'
import { type MonitoringConfigDeps, monitoringConfigRoutes } from './hub/monitoring-config.ts'
import { type PluginPageDeps, pluginPageRoutes } from './hub/plugin-pages.ts'
import { type PluginsView, pluginRoutes } from './hub/plugins.ts'
import { publicRoutes } from './hub/public.ts'
import { settingsRoutes } from './hub/settings.ts'
import { type ConfigView, systemSettingsRoutes } from './hub/system-settings.ts'
import { type ConnectionsDeps, connectionsRoutes } from './monitoring/connections.ts'
import { type CustomMetricsDeps, customMetricRoutes } from './monitoring/custom-metrics.ts'
import { grafanaRoutes } from './monitoring/grafana.ts'
import { type MetricsDeps, metricsRoutes } from './monitoring/metrics.ts'
import { overviewRoutes } from './monitoring/overview.ts'
import { type PerformanceDeps, performanceRoutes } from './monitoring/performance.ts'
import { type ResourcesDeps, resourceUsageRoutes } from './monitoring/resources.ts'
import { type ServerHealthDeps, serverHealthRoutes } from './monitoring/server-health.ts'
import { backupRoutes } from './moving/backup.ts'
import { type ExportRoutesDeps, exportRoutes as movingOutRoutes } from './moving/export.ts'
import { type ImportRoutesDeps, importRoutes } from './moving/imports.ts'
import { serverControlRoutes } from './servers/server-control.ts'
import { type ServerImportDeps, serverImportRoutes } from './servers/server-import.ts'
import { type ToolCallDeps, toolCallRoutes } from './servers/server-tool-call.ts'
import { serverToolRoutes } from './servers/server-tools.ts'
import { serverRoutes } from './servers/servers.ts'
import { type ShareRoutesDeps, shareRoutes } from './sharing/shares.ts'
import { type TeamRoutesDeps, teamRoutes } from './sharing/teams.ts'
import type { ServerViewDeps } from './views.ts'

/** Dependencies of the resource routes. */
export interface ResourceRoutesDeps
  extends MetricsDeps,
    ResourcesDeps,
    CustomMetricsDeps,
    Pick<ConnectionsDeps, 'links'>,
    Pick<ServerHealthDeps, 'uptimeRatio' | 'stateChanges'>,
    Pick<ExportRoutesDeps, 'exports'>,
    Pick<ImportRoutesDeps, 'imports' | 'importSources' | 'kinds' | 'leftBehind' | 'attached'>,
    Pick<MonitoringConfigDeps, 'usualHealthCheck' | 'fileProblems'> {
  readonly registry: Registry
  readonly proofs: ShareRoutesDeps['proofs']
  readonly alerts: Alerts
  readonly dashboards: Dashboards
  readonly assistant: Assistant
  readonly teamSources: TeamRoutesDeps['teamSources']
  readonly templates: NonNullable<ServerViewDeps['templates']>
  readonly closedFields: NonNullable<ServerViewDeps['closedFields']>
  readonly backups: BackupDownloads
  readonly upstreams: Upstreams
  readonly bus: Pick<EventBus, 'on'>
  readonly mcp: Pick<
    McpEndpoint,
    'callTool' | 'recordRefusal' | 'openPath' | 'groupView' | 'sessions' | 'usage' | 'endSession'
  >
  readonly credentials: Pick<LiveCredentials, 'during'>
  readonly bytes: ToolCallDeps['bytes']
  readonly plugins: PluginsView & PluginPageDeps
  readonly clientConfigs: GroupRoutesDeps['clientConfigs']
  readonly logging: LoggingView
  readonly transports: Transports
  readonly logStore: PerformanceDeps['logStore']
  readonly config: ConfigView
  readonly importDocument: ServerImportDeps['importDocument']
  readonly version: string
  /** Value of `performance.now()` at the start. */
  readonly startedAtMs: number
  readonly draining: () => boolean
  readonly checks: HealthDeps['checks']
  readonly healthChecks: HealthDeps['healthChecks']
  /** Features of this hub for `/api/public/info`. */
  readonly features: Readonly<Record<string, boolean>>
}

/** Routes of servers, groups, settings, health, public data and administration. Fixed paths come before `{ref}`. */
export function resourceRoutes(deps: ResourceRoutesDeps): Route[] {
  return [
    ...serverImportRoutes(deps),
    ...serverRoutes(deps),
    ...serverControlRoutes(deps),
    ...serverToolRoutes(deps),
    ...toolCallRoutes(deps),
    ...groupRoutes(deps),
    ...shareRoutes(deps),
    ...teamRoutes(deps),
    ...settingsRoutes(deps),
    ...systemSettingsRoutes(deps),
    ...healthRoutes(deps),
    ...publicRoutes(deps),
    ...discoveryRoutes(deps),
    ...adminRoutes(deps),
    ...backupRoutes(deps),
    ...importRoutes(deps),
    ...movingOutRoutes(deps),
    ...alertRoutes(deps),
    ...assistantRoutes(deps),
    ...loggingRoutes(deps),
    ...metricsRoutes(deps),
    ...performanceRoutes(deps),
    ...overviewRoutes(deps),
    ...connectionsRoutes(deps),
    ...serverHealthRoutes(deps),
    ...resourceUsageRoutes(deps),
    ...grafanaRoutes(),
    ...customMetricRoutes(deps),
    ...dashboardRoutes(deps),
    ...monitoringConfigRoutes(deps),
    ...pluginRoutes(deps),
    ...pluginPageRoutes(deps.plugins),
  ]
}
