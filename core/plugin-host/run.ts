import type { PluginContext, PluginDefinition } from '../contract/plugin.ts'
import type { ExtensionPoints } from '../contract/points.ts'
import type { EventBus } from '../events/bus.ts'
import type { EventCatalog, EventName } from '../events/catalog.ts'
import type { CallQuery } from '../features/calls.ts'
import type { Route } from '../http/route.ts'
import { createGuardedFetch } from '../outbound/create.ts'
import { aboutPlugin } from './about.ts'
import type { PluginHostOptions } from './host-options.ts'
import { startIsolated } from './isolate.ts'
import type { Admission } from './isolate-protocol.ts'
import { pluginMetrics } from './plugin-metrics.ts'
import type { PointTable } from './points.ts'
import { parsePluginConfig } from './resolve.ts'
import { callSource } from './services/calls.ts'
import { claimed } from './services/claims.ts'
import { checkDefinition, checkedCleanup } from './services/definition.ts'
import { Jobs } from './services/jobs.ts'
import { pluginFolder, pluginSettings } from './services/kept.ts'
import type { OpenRoute } from './services/routes.ts'
import { type HubServices, mainServices } from './services/services.ts'
import { requireOpen, requireWriting, type Slot } from './slot.ts'
import { migrateOwn } from './tables/migrations.ts'

/** Longest time for a plugin's setup, in milliseconds. */
export const SETUP_LIMIT_MS = 10_000

/** A promise that rejects when the time of a setup is up, until it is cleared. */
export function setupLimit(): { readonly late: Promise<never>; clear(): void } {
  const late = Promise.withResolvers<never>()
  const why = `its setup took longer than ${SETUP_LIMIT_MS / 1000} s`
  const limit = setTimeout(() => late.reject(new Error(why)), SETUP_LIMIT_MS)
  return { late: late.promise, clear: () => clearTimeout(limit) }
}

/** The parts of the host that a plugin reaches while it starts and runs. */
export interface HostAccess {
  readonly options: PluginHostOptions
  readonly points: PointTable
  hold(slot: Slot, point: keyof ExtensionPoints, id: string, contribution: ExtensionPoints[keyof ExtensionPoints]): void
  rename(slot: Slot, name: string): void
  lost(slot: Slot, message: string): void
  /** Throws MissingNeeds. */
  requireNeeds(slot: Slot): void
  /** Throws Error for an error code that another plugin has. */
  requireOwnCodes(slot: Slot): void
}

/** Runs the setup of a plugin in this thread. */
export async function runInMain(slot: Slot, definition: PluginDefinition<unknown>, host: HostAccess): Promise<void> {
  const { options } = host
  const { name } = definition
  checkDefinition(definition, slot.definition !== undefined)
  slot.about = aboutPlugin(definition)
  const { config: given, limits } = admission(slot, host)
  const config = await parsePluginConfig(definition, given)
  const hub = options.services
  if (definition.migrations) {
    await migrateOwn(name, definition.migrations, lent(hub).store, rows =>
      options.log(name).warn('Rows of its tables refer to rows that are gone; they were dropped', { rows }),
    )
  }
  own(slot, host)
  const stop = new AbortController()
  const log = options.log(name)
  const jobs = new Jobs(log, stop.signal)
  slot.failedJobs = () => jobs.failed
  slot.undo.push(() => jobs.ended())
  slot.undo.push(() => stop.abort())
  const context: PluginContext<unknown> = {
    ...mainServices({
      ...{ definition, limits, jobs, log, signal: stop.signal, isBundled: slot.definition !== undefined },
      hub: () => lent(hub),
      addRoute: route => addRoute(slot, route),
      addRecordRoutes: routes => addRecordRoutes(slot, routes),
      undo: work => undoLater(slot, work),
      requireOpen: () => requireOpen(slot),
      requireWriting: () => requireWriting(slot),
    }),
    config,
    signal: stop.signal,
    log,
    registry: options.registry,
    events: {
      on(event: string, handler: (event: never) => void) {
        requireOpen(slot)
        slot.undo.push(listen(options.bus, event, handler as (event: unknown) => void))
      },
      emit: (event: string, ownerId: string | null, data: unknown) => emit(slot, options.bus, event, ownerId, data),
    },
    fetch: createGuardedFetch({ ...options.outbound, signal: stop.signal }),
    metrics: pluginMetrics(name, options.custom),
    contribute: (point, id, contribution) => host.hold(slot, point, id, contribution),
    contributions(point) {
      const owner = host.points.ownerOf(point)
      if (owner !== undefined && owner !== name)
        throw new Error(`The contributions to "${point}" are for plugin "${owner}" alone`)
      return host.points.of(point)
    },
  }
  const cleanup = checkedCleanup(await definition.setup(context))
  if (cleanup) slot.undo.push(cleanup)
}

function undoLater(slot: Slot, work: () => void): void {
  requireOpen(slot)
  slot.undo.push(work)
}

/** Runs the setup of a plugin in a thread of its own. */
export async function runInWorker(slot: Slot, file: string, host: HostAccess): Promise<void> {
  const { options } = host
  const { bus } = options
  let missing: unknown
  const calls = callSource(
    () => lent(options.services),
    work => undoLater(slot, work),
  )
  const admitted = (one: Slot): Admission => {
    try {
      return admission(one, host)
    } catch (error) {
      missing = error
      throw error
    }
  }
  const starting = startIsolated(
    { use: slot.entry.use, file, config: slot.entry.config, outbound: options.outbound },
    {
      log: options.log(slot.name),
      metrics: name => pluginMetrics(name, options.custom),
      registry: options.registry,
      isMainOnly: point => host.points.isMainOnly(point),
      contribute: (point, id, contribution) => host.hold(slot, point, id, contribution),
      listen: (name, handler) => slot.isClosed || slot.undo.push(listen(bus, name, handler)),
      emit: (event, ownerId, data) => emit(slot, bus, event, ownerId, data),
      addRoute: route => addRoute(slot, route),
      about: about => {
        slot.about = about
      },
      async serve(method, args) {
        if (method === 'nextCalls') return calls.next()
        if (method === 'callStats') return calls.stats(args[0] as CallQuery)
        if (method !== 'admit') return served(slot, host, method, args)
        host.rename(slot, String(args[0]))
        const { migrations, points } = slot.about ?? {}
        if (migrations || points)
          throw new Error('Tables and points of its own need the main thread: set "isolate": false')
        return admitted(slot)
      },
      heap: bytes => {
        slot.heapBytes = bytes
      },
      lost: message => host.lost(slot, message),
    },
  )
  const plugin = await starting.catch(error => {
    throw missing ?? error
  })
  slot.undo.push(() => plugin.stop())
}

/** The settings of a plugin whose needs run. Throws MissingNeeds. */
function admission(slot: Slot, host: HostAccess): Admission {
  const { limits = {} } = slot.about ?? {}
  host.requireOwnCodes(slot)
  host.requireNeeds(slot)
  const wanted = Object.entries(slot.entry.limits ?? {}).filter(([limit]) => Object.hasOwn(limits, limit))
  slot.limits = { ...limits, ...Object.fromEntries(wanted) }
  return { limits: slot.limits, config: withVariables(slot, slot.entry.config, host.options.services) }
}

/** Adds the values of environment variables to a configuration, where it has none of its own. */
export function withVariables({ about }: Pick<Slot, 'about'>, config: unknown, hub: HubServices | undefined): unknown {
  const texts = Object.entries(about?.variables ?? {}).flatMap(([variable, key]) => {
    const text = hub?.variable(variable)
    return text === undefined ? [] : [[key, text] as const]
  })
  return texts.length === 0 ? config : { ...Object.fromEntries(texts), ...(config as object | undefined) }
}

function own(slot: Slot, { points }: HostAccess): void {
  for (const [point, main] of Object.entries(slot.about?.points ?? {})) {
    points.own(slot.name, point, main)
    slot.undo.push(() => points.disown(point))
  }
}

function addRoute(slot: Slot, route: OpenRoute): void {
  requireOpen(slot)
  const { method, path, whole, ownCredential } = route.described
  if (whole && !slot.definition) throw new Error(`route ${method} ${path}: only bundled plugins have whole paths`)
  if (whole && !claimed(slot.definition?.claims ?? [], path))
    throw new Error(`route ${method} ${path}: the definition does not claim this path`)
  // The others lie where the console sends its own credential.
  if (ownCredential && !whole)
    throw new Error(`route ${method} ${path}: only a route with a whole path reads a credential of its own`)
  const same = (other: OpenRoute) => other.described.method === method && shape(other.described.path) === shape(path)
  const isOfRecords = slot.recordRoutes.some(one => shape(one.path) === shape(wholePath(slot, path)))
  if (isOfRecords || slot.routes.some(same))
    throw new Error(`route ${method} ${path}: there is one for these paths already`)
  slot.routes.push(route)
}

function addRecordRoutes(slot: Slot, routes: readonly Route[]): void {
  requireOpen(slot)
  const taken = new Set(slot.routes.map(({ described: { path } }) => shape(wholePath(slot, path))))
  const same = routes.find(({ path }) => taken.has(shape(path)))
  if (same) throw new Error(`records: the plugin has a route for the paths ${same.path} already`)
  slot.recordRoutes.push(...routes)
}

function wholePath({ name }: Slot, path: string): string {
  return `/api/plugins/${name}${path}`
}

/** Replaces the names of parameters: two paths that differ only in these match the same requests. */
function shape(path: string): string {
  return path.replaceAll(/\{\w+\*?\}/g, '{}')
}

async function served(slot: Slot, { options }: HostAccess, method: string, args: readonly unknown[]): Promise<unknown> {
  const hub = lent(options.services)
  if (method === 'folder') return pluginFolder(hub.dataDir, slot.name)
  const settings = pluginSettings(
    slot.name,
    () => hub.settings,
    () => requireWriting(slot),
  )
  const found = Object.hasOwn(settings, method) ? settings[method as keyof typeof settings] : undefined
  if (!found) throw new Error(`The hub has no service "${method}" for plugins in a worker`)
  return (found as (...given: readonly unknown[]) => Promise<unknown>)(...args)
}

function lent(hub: HubServices | undefined): HubServices {
  if (!hub) throw new Error('This hub lends no services to plugins')
  return hub
}

function emit(slot: Slot, bus: EventBus, event: string, ownerId: string | null, data: unknown): void {
  const kind = slot.about?.events?.[event]
  if (!kind) throw new TypeError(`The definition of plugin "${slot.name}" has no event "${event}"`)
  bus.emitOfPlugin(event as EventName, ownerId, data as EventCatalog[EventName], kind.audience)
}

function listen(bus: EventBus, name: string, handler: (event: unknown) => void): () => void {
  const relay = (event: { readonly audience: string }) => {
    if (event.audience !== 'internal') handler(event)
  }
  return name === '*' ? bus.on('*', relay) : bus.on(name as EventName, relay)
}
