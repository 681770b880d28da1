import type { PluginContext, PluginDefinition } from '../../contract/plugin.ts'
import type { Store } from '../../store/open.ts'
import { ownTables } from '../tables/own-tables.ts'
import {
  fetchFor,
  type HubParts,
  pluginClient,
  pluginGroups,
  pluginPeople,
  pluginPlanning,
  pluginServers,
  pluginStates,
} from './hub-services.ts'
import type { Jobs } from './jobs.ts'
import { type FormerPlaces, type KeptIn, pluginFolder, pluginSecrets, pluginSettings } from './kept.ts'
import { ownErrors } from './own-errors.ts'
import { type OpenRoute, openRoute } from './routes.ts'
import { Threads } from './thread.ts'

/** What the hub lends to plugins. */
export interface HubServices extends HubParts {
  readonly store: Store
  readonly settings: KeptIn
  readonly dataDir: string
  /** By bundled plugin. */
  readonly formerPlaces: Readonly<Record<string, FormerPlaces>>
  /** The text of a variable that a plugin names. */
  variable(name: string): string | undefined
}

/** What the services of one plugin need. */
export interface ServiceParts {
  readonly isBundled: boolean
  /** Throws where the hub lends nothing. */
  hub(): HubServices
  readonly definition: PluginDefinition<unknown>
  readonly limits: Readonly<Record<string, number>>
  readonly signal: AbortSignal
  readonly jobs: Jobs
  addRoute(route: OpenRoute): void
}

/** The services of a plugin, which stand in its context. */
export type Services = Omit<
  PluginContext<unknown>,
  'config' | 'signal' | 'log' | 'registry' | 'events' | 'fetch' | 'metrics' | 'contribute' | 'contributions'
>

/** The services of a plugin in the main thread. */
export function mainServices({ hub, isBundled, definition, limits, jobs, signal, addRoute }: ServiceParts): Services {
  const { name } = definition
  const plugin = { name, signal }
  const threads = new Threads(signal)
  const requests = once(() => fetchFor(hub(), plugin))
  return {
    limits,
    jobs,
    routes: { add: route => addRoute(openRoute(route as unknown as Parameters<typeof openRoute>[0])) },
    settings: pluginSettings(name, () => hub().settings),
    secrets: made(() => {
      const former = isBundled ? hub().formerPlaces[name] : undefined
      return pluginSecrets(name, () => hub().settings, former)
    }),
    folder: async () => pluginFolder(hub().dataDir, name),
    error: ownErrors(definition),
    servers: made(() => pluginServers(hub(), plugin)),
    groups: made(() => pluginGroups(hub(), plugin)),
    people: made(() => pluginPeople(hub())),
    planned: (what, read) => pluginPlanning(hub(), plugin)(what, read),
    states: made(() => pluginStates(hub())),
    thread: module => threads.open(module),
    client: async (actor, path) => pluginClient(hub(), plugin, actor, path),
    fetchFor: userId => (url, request) => requests()(userId)(url, request),
    tables() {
      if (!definition.migrations) throw new Error(`Plugin "${name}" has no migrations, so that it has no tables`)
      return ownTables(name, hub().store)
    },
  }
}

function once<T>(make: () => T): () => T {
  let value: T | undefined
  return () => {
    value ??= make()
    return value
  }
}

/** A service that is made when it is first used: what it needs may not be there in tests and checks of a plugin. */
function made<T extends object>(make: () => T): T {
  const service = once(make)
  return new Proxy({} as T, { get: (_, member) => Reflect.get(service(), member) })
}
