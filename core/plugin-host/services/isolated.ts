import type { PluginSettings } from '../../contract/kept.ts'
import type { PluginDefinition, PluginLogger } from '../../contract/plugin.ts'
import type { PluginCalls } from '../../features/calls.ts'
import type { CallBatch } from '../../telemetry/calls/call-queue.ts'
import { pluginCalls } from './calls.ts'
import type { Jobs } from './jobs.ts'
import { ownErrors } from './own-errors.ts'
import { type OpenRoute, openRoute } from './routes.ts'
import type { Services } from './services.ts'

/** The parts that the services of an isolated plugin use. */
export interface IsolatedParts {
  readonly definition: PluginDefinition<unknown>
  readonly limits: Readonly<Record<string, number>>
  readonly log: PluginLogger
  readonly jobs: Jobs
  readonly signal: AbortSignal
  /** Asks the main thread. */
  ask(method: string, args: readonly unknown[]): Promise<unknown>
  addRoute(route: OpenRoute): void
}

/** Services that would need the main thread's parts of the hub. */
const OF_MAIN = [
  'secrets',
  'sealing',
  'records',
  'tables',
  'servers',
  'groups',
  'people',
  'shares',
  'teams',
  'notify',
  'signIns',
  'planned',
  'systemSettings',
  'states',
  'address',
  'client',
  'audit',
  'isLocal',
  'fetchFor',
  'dialFor',
  'thread',
] as const

/** The services of a plugin in a worker. Those of the main thread alone throw Error. */
export function isolatedServices({ definition, limits, log, jobs, signal, ask, addRoute }: IsolatedParts): Services {
  const refused = (service: string): never => {
    throw new Error(`"${service}" is open to plugins in the main thread alone: set "isolate": false`)
  }
  return {
    limits,
    jobs,
    calls: pluginCalls({
      next: () => ask('nextCalls', []) as Promise<CallBatch | undefined>,
      stats: query => ask('callStats', [query]) as ReturnType<PluginCalls['stats']>,
      ...{ log, signal },
    }),
    routes: { add: route => addRoute(openRoute(route as unknown as Parameters<typeof openRoute>[0])) },
    settings: {
      hub: () => ask('hub', []),
      setHub: values => ask('setHub', [values]),
      user: userId => ask('user', [userId]),
      setUser: (userId, values) => ask('setUser', [userId, values]),
    } as PluginSettings,
    ...(Object.fromEntries(
      OF_MAIN.map(service => [service, new Proxy(() => refused(service), { get: () => () => refused(service) })]),
    ) as unknown as Pick<Services, (typeof OF_MAIN)[number]>),
    folder: () => ask('folder', []) as Promise<string>,
    error: ownErrors(definition),
  }
}
