import { HubError } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { RouteContribution } from '../contract/points.ts'
import type { PluginRouteTable, PluginSchemaRoute } from '../http/plugin-routes.ts'
import type { Route } from '../http/route.ts'
import type { PointTable } from './points.ts'
import { claimed } from './services/claims.ts'
import { attributed, type OpenRoute } from './services/routes.ts'
import type { Slot } from './slot.ts'

/** Routes and limits of the plugins that run. */
export class RouteTable implements PluginRouteTable {
  readonly #slots: () => readonly Slot[]
  readonly #points: PointTable
  readonly #log: (plugin: string) => PluginLogger
  readonly #open = new WeakMap<OpenRoute, PluginSchemaRoute>()

  constructor(slots: () => readonly Slot[], points: PointTable, log: (plugin: string) => PluginLogger) {
    this.#slots = slots
    this.#points = points
    this.#log = log
  }

  free(plugin: string, path: string): RouteContribution | undefined {
    for (const [point, id] of this.#slot(plugin)?.held ?? []) {
      const offered = point === 'routes' ? this.#points.of('routes').get(id) : undefined
      if (offered?.path === path) return offered
    }
    return undefined
  }

  of(plugin: string): readonly PluginSchemaRoute[] {
    const slot = this.#slot(plugin)
    return slot ? this.#routesOf(slot) : []
  }

  whole(): readonly PluginSchemaRoute[] {
    const isWhole = ({ described: { whole } }: OpenRoute): boolean => whole === true
    const slots = this.#slots().filter(({ state, routes }) => state === 'running' && routes.some(isWhole))
    return slots.flatMap(slot => this.#routesOf(slot)).filter(({ described: { whole } }) => whole === true)
  }

  all(): readonly PluginSchemaRoute[] {
    return this.#slots()
      .filter(({ state }) => state === 'running')
      .flatMap(slot => this.#routesOf(slot))
  }

  unavailable(path: string): HubError | undefined {
    for (const { state, definition } of this.#slots()) {
      const { unavailable, claims = [] } = definition ?? {}
      if (state !== 'running' && unavailable && claimed(claims, path))
        return new HubError(unavailable.code, unavailable.message)
    }
    return undefined
  }

  records(plugin?: string): readonly Route[] {
    return this.#slots()
      .filter(({ name, state }) => state === 'running' && (plugin === undefined || name === plugin))
      .flatMap(({ recordRoutes }) => recordRoutes)
  }

  codes(): readonly string[] {
    const running = this.#slots().filter(({ state }) => state === 'running')
    return running.flatMap(({ about }) => about?.errors ?? [])
  }

  limits(): Readonly<Record<string, Readonly<Record<string, number>>>> {
    const running = this.#slots().filter(({ state, limits }) => state === 'running' && Object.keys(limits).length > 0)
    return Object.fromEntries(running.map(({ name, limits }) => [name, limits]))
  }

  #slot(plugin: string): Slot | undefined {
    return this.#slots().find(({ name, state }) => name === plugin && state === 'running')
  }

  #routesOf(slot: Slot): readonly PluginSchemaRoute[] {
    const weight = ({ described: { path } }: PluginSchemaRoute): string => path.replaceAll(/\{\w+\*?\}/g, '~')
    return slot.routes
      .map(route => this.#opened(slot, route))
      .toSorted((a, b) => (weight(a) < weight(b) ? -1 : weight(a) > weight(b) ? 1 : 0))
  }

  #opened(slot: Slot, route: OpenRoute): PluginSchemaRoute {
    const known = this.#open.get(route)
    if (known) return known
    const { name: plugin } = slot
    const { described, tooLarge } = route
    const opened: PluginSchemaRoute = {
      ...{ plugin, described, ...(tooLarge ? { tooLarge } : {}) },
      handle: async (request, signal) => {
        try {
          return await route.handle(request, signal)
        } catch (error) {
          if (!(error instanceof HubError) || error.code === 'internal') this.#failed(slot, route, error)
          throw attributed(error, plugin, slot.definition?.errors)
        }
      },
    }
    this.#open.set(route, opened)
    return opened
  }

  #failed({ name }: Slot, { described: { method, path } }: OpenRoute, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.#log(name).error(`Plugin "${name}" failed at ${method} ${path}: ${why}`)
  }
}
