import type { Alerts } from '../../alerts/create.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { PluginContext, PluginDefinition, PluginLogger } from '../../contract/plugin.ts'
import type { PluginThread } from '../../features/services/main-thread.ts'
import type { Route } from '../../http/route.ts'
import type { Store } from '../../store/open.ts'
import { ownTables } from '../tables/own-tables.ts'
import { callSource, type HubCalls, pluginCalls } from './calls.ts'
import {
  dialFor,
  fetchFor,
  type HubParts,
  pluginAudit,
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
import { pluginRecordKinds, type RecordParts } from './records.ts'
import { type OpenRoute, openRoute } from './routes.ts'
import { pluginSealing } from './sealing.ts'
import { pluginShares, pluginTeams, type SharesParts } from './shares.ts'
import { pluginSignIns, type SignInParts } from './sign-ins.ts'
import { Threads } from './thread.ts'

/** The parts of the hub that plugins use. */
export interface HubServices extends HubParts, RecordParts, SignInParts, SharesParts {
  readonly registry: HubParts['registry'] & RecordParts['registry'] & SignInParts['registry'] & SharesParts['registry']
  readonly auth: HubParts['auth'] & SignInParts['auth']
  readonly store: Store
  readonly calls: HubCalls
  readonly settings: KeptIn
  readonly dataDir: string
  /** True when the hub listens on loopback addresses alone. */
  readonly isLocal: boolean
  /** Earlier places of secrets, by bundled plugin. */
  readonly formerPlaces: Readonly<Record<string, FormerPlaces>>
  /** Undefined until the hub has begun. */
  notices(): Pick<Alerts, 'notify'> | undefined
  /** The hub's settings that hold at this moment, by key. */
  systemSettings(): Promise<object>
  /** The text of a variable that a plugin names. */
  variable(name: string): string | undefined
}

/** The parts that the services of one plugin use. */
export interface ServiceParts {
  readonly isBundled: boolean
  /** Throws where the hub offers no services. */
  hub(): HubServices
  readonly definition: PluginDefinition<unknown>
  readonly limits: Readonly<Record<string, number>>
  readonly signal: AbortSignal
  readonly jobs: Jobs
  readonly log: PluginLogger
  addRoute(route: OpenRoute): void
  addRecordRoutes(routes: readonly Route[]): void
  /** Runs when the plugin stops. Throws Error for one that has ended. */
  undo(work: () => void): void
  /** Throws Error for a plugin that has ended. */
  requireOpen(): void
  /** Throws Error for a plugin of which the clean-up and the jobs have ended, too. */
  requireWriting(): void
}

/** The services of a plugin, which are members of its context. */
export type Services = Omit<
  PluginContext<unknown>,
  'config' | 'signal' | 'log' | 'registry' | 'events' | 'fetch' | 'metrics' | 'contribute' | 'contributions'
>

/** The services of a plugin in the main thread. */
export function mainServices(parts: ServiceParts): Services {
  const { hub, isBundled, definition, limits, jobs, signal, addRoute } = parts
  const { name } = definition
  const plugin = { name, signal }
  const threads = new Threads(signal, name)
  const requests = once(() => fetchFor(hub(), plugin))
  const sockets = once(() => dialFor(hub(), plugin))
  return {
    limits,
    jobs,
    calls: pluginCalls({ ...callSource(hub, work => parts.undo(work)), log: parts.log, signal }),
    routes: { add: route => addRoute(openRoute(route as unknown as Parameters<typeof openRoute>[0])) },
    settings: pluginSettings(name, () => hub().settings, parts.requireWriting),
    secrets: made(() => {
      const former = isBundled ? hub().formerPlaces[name] : undefined
      return pluginSecrets(name, () => hub().settings, { former, requireWriting: parts.requireWriting })
    }),
    sealing: pluginSealing(name, () => hub().sealer),
    folder: async () => pluginFolder(hub().dataDir, name, isBundled ? hub().formerPlaces[name] : undefined),
    error: ownErrors(definition),
    records: pluginRecordKinds({
      ...{ plugin: name, hub, log: parts.log },
      addRoutes: routes => parts.addRecordRoutes(routes),
      undo: work => parts.undo(work),
      requireOpen: () => parts.requireOpen(),
    }),
    servers: made(() => pluginServers(hub(), plugin)),
    groups: made(() => pluginGroups(hub(), plugin)),
    people: made(() => pluginPeople(hub())),
    shares: made(() => pluginShares(hub(), name, isBundled)),
    teams: made(() => pluginTeams(hub(), isBundled)),
    signIns: made(() => pluginSignIns(hub(), name, isBundled)),
    async systemSettings() {
      const all = { ...(await hub().systemSettings()) } as Readonly<Record<string, unknown>>
      const keys = [...(definition.systemSettings ?? []), ...Object.keys(definition.hubSettings ?? {})]
      const own = keys.map(key => [key, all[key]] as const)
      return Object.fromEntries(own.filter(([, value]) => value !== undefined)) as Record<string, JsonValue>
    },
    planned: (what, read) => pluginPlanning(hub(), plugin)(what, read),
    address: () => hub().address(),
    notify: async (userId, notice) => (await hub().notices()?.notify(userId, notice)) ?? 0,
    states: made(() => pluginStates(hub())),
    thread: <Message, Answer>(module: string) => threads.open(module) as PluginThread<Message, Answer>,
    client: async (actor, path) => pluginClient(hub(), plugin, actor, path),
    audit: (...record) => pluginAudit(hub(), plugin)(...record),
    isLocal: () => hub().isLocal,
    fetchFor: (userId, as) => (url, request) => requests()(userId, as)(url, request),
    dialFor: userId => (url, request) => sockets()(userId)(url, request),
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
