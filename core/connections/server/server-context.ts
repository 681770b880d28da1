import type { PluginLogger } from '../../contract/plugin.ts'
import type { EventBus } from '../../events/bus.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { ServerRedactors } from '../../secrets/server-redactors.ts'
import type { Launcher } from '../connection/launcher.ts'
import type { Children } from '../spawn/children.ts'
import type { AskingStore } from '../store/asking-store.ts'
import type { CatalogAccount } from '../store/catalog-account.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import type { EraStore } from '../store/era-store.ts'
import type { ToolDefinitions } from '../store/tool-definitions.ts'
import type { StartSlots } from './start-slots.ts'

/** What the state machines of all servers work with. */
export interface SharedContext {
  readonly launcher: Launcher
  readonly children: Children
  readonly starts: StartSlots
  readonly catalogs: CatalogStore
  readonly account: CatalogAccount
  readonly eras: EraStore
  readonly askings: AskingStore
  /** Places for looks at what servers do for clients that can be asked; absent: none is taken. */
  readonly looks?: StartSlots
  readonly definitions: ToolDefinitions
  readonly bus: EventBus
  readonly log: PluginLogger
  readonly effective: (serverId: string) => Promise<EffectiveServer>
  readonly redactors: Pick<ServerRedactors, 'of' | 'forget'>
  readonly random: () => number
  /** Whether a mark in a list is this hub's own. */
  readonly isOwnMark: (mark: string) => boolean
}

/** What one server's works with. */
export interface ServerContext extends SharedContext {
  /** Takes the server's own secrets out of a text for people. */
  readonly redact: (text: string) => string
}
