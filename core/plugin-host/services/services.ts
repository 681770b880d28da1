import type { PluginContext, PluginDefinition, PluginLogger } from '../../contract/plugin.ts'
import type { Store } from '../../store/open.ts'
import { ownTables } from '../tables/own-tables.ts'
import type { Jobs } from './jobs.ts'
import { type KeptIn, pluginFolder, pluginSecrets, pluginSettings } from './kept.ts'
import { ownErrors } from './own-errors.ts'
import { type OpenRoute, openRoute } from './routes.ts'

/** What the hub lends to plugins. */
export interface HubServices {
  readonly store: Store
  readonly settings: KeptIn
  readonly dataDir: string
  /** The text of a variable that a plugin names. */
  variable(name: string): string | undefined
}

/** What the services of one plugin need. */
export interface ServiceParts {
  /** Throws where the hub lends nothing. */
  hub(): HubServices
  readonly definition: PluginDefinition<unknown>
  readonly limits: Readonly<Record<string, number>>
  readonly log: PluginLogger
  readonly jobs: Jobs
  addRoute(route: OpenRoute): void
}

type Services = Pick<
  PluginContext<unknown>,
  'limits' | 'routes' | 'jobs' | 'settings' | 'secrets' | 'tables' | 'folder' | 'error'
>

/** The services of a plugin in the main thread. */
export function mainServices({ hub, definition, limits, jobs, addRoute }: ServiceParts): Services {
  const { name } = definition
  return {
    limits,
    jobs,
    routes: { add: route => addRoute(openRoute(route as unknown as Parameters<typeof openRoute>[0])) },
    settings: pluginSettings(name, () => hub().settings),
    secrets: pluginSecrets(name, () => hub().settings),
    folder: async () => pluginFolder(hub().dataDir, name),
    error: ownErrors(definition),
    tables() {
      if (!definition.migrations) throw new Error(`Plugin "${name}" has no migrations, so that it has no tables`)
      return ownTables(name, hub().store)
    },
  }
}
