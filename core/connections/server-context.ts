import type { PluginLogger } from '../contract/plugin.ts'
import type { EventBus } from '../events/bus.ts'
import type { EffectiveServer } from '../registry/api.ts'
import type { CatalogStore } from './catalog-store.ts'
import type { Children } from './children.ts'
import type { EraStore } from './era-store.ts'
import type { Launcher } from './launcher.ts'
import type { StartSlots } from './start-slots.ts'
import type { ToolDefinitions } from './tool-definitions.ts'

/** What every server's state machine works with. */
export interface ServerContext {
  readonly launcher: Launcher
  readonly children: Children
  readonly starts: StartSlots
  readonly catalogs: CatalogStore
  readonly eras: EraStore
  readonly definitions: ToolDefinitions
  readonly bus: EventBus
  readonly log: PluginLogger
  readonly effective: (serverId: string) => Promise<EffectiveServer>
  readonly redact: (text: string) => string
  readonly random: () => number
}
