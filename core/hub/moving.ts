import type { Alerts } from '../alerts/create.ts'
import type { Assistant } from '../assistant/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { SettingsFile } from '../config/settings-file.ts'
import { movingDashboards } from '../dashboards/dashboards.ts'
import type { ImportRoutesDeps } from '../http/routes/moving/imports.ts'
import type { BackupDownloads } from '../moving/backup/download.ts'
import type { ExportService } from '../moving/export.ts'
import type { ExportRegistry } from '../moving/export-form.ts'
import type { ImportDeps, ImportService } from '../moving/imports.ts'
import type { MovingKinds } from '../registry/owned/moving.ts'
import type { OpenKinds } from '../registry/owned/open-kinds.ts'
import { LEFT_BEHIND } from './bundled.ts'
import { FILE_ADDITIONS } from './file-additions.ts'

/** Dependencies of import and export. */
export interface MovingParts extends Omit<ImportDeps, 'records' | 'settings' | 'additions'> {
  readonly alerts: Pick<Alerts, 'moving'>
  readonly assistant: Pick<Assistant, 'moving'>
  readonly kinds: OpenKinds
  readonly config: Pick<HubConfig, 'dataDir' | 'databaseUrl'>
  readonly registry: Omit<ExportRegistry, 'attached'>
  readonly settings: Pick<SettingsFile, 'path' | 'state'>
}

/** Imports and backups. Both are rare: their code is loaded at the first use, and takes no memory until then. */
export function openMoving(parts: MovingParts): {
  readonly imports: ImportService
  readonly exports: ExportService
  readonly backups: BackupDownloads
  readonly records: MovingKinds
  readonly leftBehind: ImportRoutesDeps['leftBehind']
} {
  const records: MovingKinds = ({ store, registry }) => [
    ...parts.alerts.moving(store),
    movingDashboards(store),
    parts.assistant.moving(store, registry),
    ...parts.kinds.added().map(({ moving }) => moving(store)),
  ]
  const additions = { ...FILE_ADDITIONS, leftBehind: LEFT_BEHIND }
  let imports: Promise<ImportService> | undefined
  let exports: Promise<ExportService> | undefined
  let backups: Promise<BackupDownloads> | undefined
  const importService = () => {
    imports ??= import('../moving/imports.ts').then(
      ({ Imports }) => new Imports({ ...parts, records, settings: parts.registry.settings, additions }),
    )
    return imports
  }
  const exportService = () => {
    exports ??= import('../moving/export.ts').then(({ createExports }) =>
      createExports({ ...parts.registry, attached: parts.attached }, () => records(parts)),
    )
    return exports
  }
  const downloads = () => {
    const { config, settings } = parts
    const places = { dataDir: config.dataDir, databaseUrl: config.databaseUrl, settings }
    backups ??= import('../moving/backup/download.ts').then(module => module.createBackupDownloads(places))
    return backups
  }
  return {
    imports: {
      plan: async (...request) => (await importService()).plan(...request),
      apply: async (...request) => (await importService()).apply(...request),
      servers: async (...request) => (await importService()).servers(...request),
      list: async actor => (await importService()).list(actor),
      rollBack: async (actor, id) => (await importService()).rollBack(actor, id),
    },
    exports: { make: async (...request) => (await exportService()).make(...request) },
    backups: { make: async () => (await downloads()).make() },
    records,
    leftBehind: LEFT_BEHIND,
  }
}
