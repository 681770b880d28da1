import type { Auth } from '../auth/create.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { HubConfig } from '../config/schema.ts'
import { addressRights } from '../domain/address.ts'
import type { OpenTransports } from '../domain/server/transports.ts'
import type { EventBus } from '../events/bus.ts'
import { PluginHost } from '../plugin-host/host.ts'
import type { HubServices } from '../plugin-host/services/services.ts'
import { registryView } from '../plugin-host/views.ts'
import type { Registry } from '../registry/api.ts'
import type { OpenAttached } from '../registry/attached.ts'
import type { OpenKinds } from '../registry/owned/open-kinds.ts'
import type { HubMarks } from '../secrets/hub-marks.ts'
import type { Sealer } from '../secrets/seal.ts'
import type { Store } from '../store/open.ts'
import type { CustomMetrics } from '../telemetry/custom-metrics.ts'
import type { HubLog } from '../telemetry/log.ts'
import { bundledPlugins, FORMER_PLACES, fileEntries, pluginEntries } from './bundled.ts'
import { PluginServices } from './plugin-services.ts'

interface PluginParts {
  readonly loaded: LoadedConfig
  readonly config: HubConfig
  readonly store: Store
  readonly registry: Registry
  readonly auth: Auth
  readonly sealer: Sealer
  readonly kinds: OpenKinds
  readonly transports: OpenTransports
  readonly attached: OpenAttached
  readonly bus: EventBus
  readonly hubLog: HubLog
  readonly marks: HubMarks
  readonly custom: CustomMetrics
  readonly calls: HubServices['calls']
  readonly undo: AsyncDisposableStack
}

/** Starts the plugins; the services that they get lack what is built after them. */
export async function openPlugins(parts: PluginParts) {
  const { loaded, config, store, registry, auth, sealer, kinds, bus, hubLog, marks, custom, calls, undo } = parts
  const { transports, attached } = parts
  const services = new PluginServices({
    ...{ store, registry, auth, sealer, kinds, config, calls, dataDir: loaded.config.dataDir },
    variable: name => loaded.variable(name),
    systemSettings: async () => loaded.withStored(await registry.settings.allSystem()).config,
    instanceId: marks.make(),
    formerPlaces: FORMER_PLACES,
  })
  const plugins = new PluginHost({
    bundled: bundledPlugins,
    entries: pluginEntries(fileEntries(loaded.settings), loaded.config),
    folder: loaded.settings.folder,
    registry: registryView(registry),
    log: plugin => hubLog.with({ component: `plugin:${plugin}`, plugin }),
    outbound: { rights: addressRights(config, true), instanceId: marks.make() },
    ...{ transports, attached, bus, custom, services },
  })
  await plugins.start()
  undo.defer(() => plugins.stop('logStore'))
  return { plugins, services }
}
