import { HubError } from '../contract/errors.ts'
import type { RegistryView } from '../contract/plugin.ts'
import { quoteName } from '../domain/names.ts'
import type { PluginPageDeps } from '../http/routes/hub/plugin-pages.ts'
import type { PluginsView } from '../http/routes/hub/plugins.ts'
import type { Registry } from '../registry/api.ts'
import type { PluginHost } from './host.ts'

/** The registry as plugins see it: read-only, each call on behalf of an actor. */
export function registryView(registry: Registry): RegistryView {
  const { servers, groups } = registry
  return {
    group: (actor, owner, name) => groups.find(actor, owner, name),
    groupById: (actor, id) => groups.byId(actor, id),
    server: (actor, id) => servers.byId(actor, id),
    async serverByName(actor, owner, name) {
      const ownerName = owner ?? (actor.kind === 'user' ? actor.name : undefined)
      if (ownerName === undefined) return undefined
      try {
        return await servers.resolve(actor, `${ownerName}~${name}`, 'use')
      } catch (error) {
        if (error instanceof HubError && error.status === 404) return undefined
        throw error
      }
    },
    mayUse: (userId, thing) => registry.shares.mayUse(userId, thing),
    reachOf: server => registry.shares.reachOf(server),
    ownServers: actor => servers.list(actor, { scope: 'mine' }),
    usableMembers: (actor, group) => groups.usableMembers(actor, group),
  }
}

/** The plugin host as administrators see it. */
export function pluginsView(host: PluginHost): PluginsView & PluginPageDeps {
  return {
    pages: () => host.pages(),
    builtPages: () => host.builtPages(),
    words: () => host.words(),
    list: () => host.list(),
    async install(entry) {
      const info = await host.install(entry)
      if (!info) throw new HubError('name_taken', `There is a plugin ${quoteName(entry.use)} already`)
      return info
    },
    async remove(name) {
      if (await host.remove(name)) return
      throw new HubError('plugin_not_found', `There is no plugin ${quoteName(name)} that was added`, {
        hint: 'Bundled plugins cannot be removed: switch them off.',
      })
    },
    async configure(actor, name, change) {
      const info = await host.configure(actor, name, change)
      if (!info) throw new HubError('plugin_not_found', `There is no plugin "${name.slice(0, 64)}"`)
      return info
    },
  }
}

/** The contribution to a point that has one. */
export function firstContribution<T>(contributions: ReadonlyMap<string, T>): T | undefined {
  for (const contribution of contributions.values()) return contribution
  return undefined
}

const NONE: readonly never[] = Object.freeze([])

/** Called with every call, and nearly always without contributions. */
export function everyContribution<T>(contributions: ReadonlyMap<string, T>): readonly T[] {
  return contributions.size === 0 ? NONE : [...contributions.values()]
}
