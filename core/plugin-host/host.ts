import { HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../contract/json.ts'
import type { PluginContext, PluginDefinition, PluginLogger, RegistryView } from '../contract/plugin.ts'
import type { ExtensionPoints, McpMiddleware, RouteContribution, TransportContribution } from '../contract/points.ts'
import type { Actor } from '../contract/records.ts'
import type { OpenTransports } from '../domain/server/transports.ts'
import { visibleText } from '../domain/text/visible-text.ts'
import type { EventBus } from '../events/bus.ts'
import type { EventName } from '../events/catalog.ts'
import { createGuardedFetch } from '../outbound/create.ts'
import type { CustomMetrics } from '../telemetry/custom-metrics.ts'
import { registerPluginModules } from '../transport-kit/module.ts'
import { aboutPlugin } from './about.ts'
import { checkPluginConfig } from './config-check.ts'
import { showTexts } from './contribution-texts.ts'
import { infoOf, type PluginInfo, shapeOf } from './info.ts'
import { startIsolated } from './isolate.ts'
import type { OutboundRules } from './isolate-protocol.ts'
import { MiddlewareCounter } from './middleware-counts.ts'
import { type OpenPage, readPage } from './pages.ts'
import { pluginMetrics } from './plugin-metrics.ts'
import { asDefinition, type PluginEntry, parsePluginConfig, resolvePlugin } from './resolve.ts'
import { keepSecrets } from './shown-config.ts'
import { keyOf, newSlot, type PluginState, renewedSlot, type Slot } from './slot.ts'

/** Longest time for a plugin's setup, in milliseconds. */
const START_LIMIT_MS = 10_000
const STOP_LIMIT_MS = 5_000

/** Dependencies and settings of the `PluginHost`. */
export interface PluginHostOptions {
  /** In the order in which they start. */
  readonly bundled: readonly PluginDefinition<unknown>[]
  readonly entries: readonly PluginEntry[]
  /** Where npm names and relative paths resolve from. */
  readonly folder: string
  readonly registry: RegistryView
  /** Kept equal to the contributions to the point `transport`. */
  readonly transports: Pick<OpenTransports, 'add' | 'remove'>
  readonly bus: EventBus
  readonly log: (plugin: string) => PluginLogger
  /** Where the metrics of plugins are counted. */
  readonly custom: Pick<CustomMetrics, 'add'>
  /** What `context.fetch` may reach; cloneable. */
  readonly outbound: OutboundRules
}

/**
 * Starts plugins in order, withdraws the contributions of one that fails, and continues without it unless it is
 * `required`. Stops them in reverse order.
 */
export class PluginHost {
  readonly #options: PluginHostOptions
  readonly #slots: Slot[]
  readonly #points = new Map<keyof ExtensionPoints, Map<string, ExtensionPoints[keyof ExtensionPoints]>>()

  /** Counts of the effects of middlewares, by plugin. */
  readonly middlewares: MiddlewareCounter
  #starts = 0

  constructor(options: PluginHostOptions) {
    this.#options = options
    this.middlewares = new MiddlewareCounter(options.log)
    const configured = new Map(options.entries.map(entry => [entry.use, entry]))
    const bundled = options.bundled.map(definition =>
      newSlot(configured.get(definition.name) ?? { use: definition.name }, definition),
    )
    const names = new Set(options.bundled.map(definition => definition.name))
    this.#slots = [
      ...bundled,
      ...options.entries.filter(entry => !names.has(entry.use)).map(entry => newSlot(entry, undefined)),
    ]
  }

  /** Resolves when each plugin runs or has failed. Throws only when one that is `required` failed. */
  async start(): Promise<void> {
    for (const slot of this.#slots) await this.#startSlot(slot)
  }

  /** Stops all plugins in parallel, the last one first; takes 5 s at most, however many of them hang. */
  async stop(): Promise<void> {
    const running = this.#slots.filter(({ state }) => state === 'running').reverse()
    await Promise.all(running.map(slot => this.#stopSlot(slot, 'stopped')))
  }

  /** Live view: later contributions appear in it. */
  contributions<P extends keyof ExtensionPoints>(point: P): ReadonlyMap<string, ExtensionPoints[P]> {
    let map = this.#points.get(point)
    if (!map) {
      map = new Map()
      this.#points.set(point, map)
    }
    return map as unknown as ReadonlyMap<string, ExtensionPoints[P]>
  }

  /** The contribution of this plugin for `/api/plugins/{plugin}/{path}`. */
  route(plugin: string, path: string): RouteContribution | undefined {
    const slot = this.#slots.find(({ name, state }) => name === plugin && state === 'running')
    for (const [point, id] of slot?.held ?? []) {
      const offered = point === 'routes' ? this.contributions('routes').get(id) : undefined
      if (offered?.path === path) return offered
    }
    return undefined
  }

  list(): readonly PluginInfo[] {
    return this.#slots.map(infoOf)
  }

  /** The pages of all plugins that run. */
  pages(): readonly OpenPage[] {
    return this.#slots
      .filter(({ state }) => state === 'running')
      .flatMap(({ name, pages }) => pages.map(page => ({ ...page, plugin: name })))
  }

  /**
   * Restarts one plugin with its new settings; undefined when there is none of that name. Throws `validation_failed`
   * for a configuration that the plugin rejects: it is not stopped for one that its schema rejects, and started again
   * with its old one where its setup does. Masks in the configuration stand for the secrets that it has.
   */
  async configure(
    actor: Actor,
    name: string,
    wanted: { readonly enabled?: boolean; readonly config?: JsonObject },
  ): Promise<PluginInfo | undefined> {
    const index = this.#slots.findIndex(slot => slot.name === name)
    const old = this.#slots[index]
    if (!old) return undefined
    const stored = isJsonObject(old.entry.config) ? old.entry.config : {}
    const { config } = wanted
    const change =
      config === undefined ? wanted : { ...wanted, config: keepSecrets(actor, config, stored, shapeOf(old)) }
    if (change.config !== undefined) {
      await checkPluginConfig(
        { ...old.entry, config: change.config },
        old.definition,
        this.#options.folder,
        START_LIMIT_MS,
      )
    }
    if (old.state === 'running') await this.#stopSlot(old, 'stopped')
    const next = renewedSlot(old, { ...old.entry, ...change })
    this.#slots[index] = next
    const refusal = await this.#startSlot(next, false)
    if (change.config !== undefined && refusal instanceof HubError && refusal.code === 'validation_failed') {
      const before = renewedSlot(next, old.entry)
      this.#slots[index] = before
      await this.#startSlot(before, false)
      throw refusal
    }
    return this.list()[index]
  }

  /** Resolves with the error when it failed; undefined when it runs, or is disabled. */
  async #startSlot(slot: Slot, mayEndTheHub = true): Promise<unknown> {
    if (slot.entry.enabled === false) {
      slot.state = 'disabled'
      this.#announce(slot)
      return undefined
    }
    let limit: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      limit = setTimeout(
        () => reject(new Error(`its setup took longer than ${START_LIMIT_MS / 1000} s`)),
        START_LIMIT_MS,
      )
    })
    slot.starts += 1
    const run = this.#run(slot)
    try {
      await Promise.race([run, late])
      slot.state = 'running'
      slot.startedAt = new Date().toISOString()
      this.#announce(slot)
      return undefined
    } catch (error) {
      await this.#fail(slot, error)
      // A setup that ends after its time is up may have left a clean-up or a worker behind.
      const undoLate = () => (slot.undo.length > 0 ? this.#stopSlot(slot, 'failed') : undefined)
      void run.then(undoLate, undoLate)
      if (mayEndTheHub && slot.entry.required)
        throw new Error(`Required plugin "${slot.name}" failed: ${slot.message}`, { cause: error })
      return error
    } finally {
      clearTimeout(limit)
    }
  }

  async #run(slot: Slot): Promise<void> {
    if (slot.definition) return this.#runInMain(slot, slot.definition)
    const { file, sha256 } = await resolvePlugin(slot.entry.use, this.#options.folder)
    slot.sha256 = sha256
    slot.file = file
    slot.isolated = slot.entry.isolate !== false
    if (!slot.isolated) {
      registerPluginModules()
      // A module is cached by its specifier: a changed file gets another one.
      return this.#runInMain(slot, asDefinition(await import(`${file}?${sha256}`), slot.entry.use))
    }
    const plugin = await startIsolated(
      { use: slot.entry.use, file, config: slot.entry.config, outbound: this.#options.outbound },
      {
        log: this.#options.log(slot.name),
        metrics: plugin => pluginMetrics(plugin, this.#options.custom),
        registry: this.#options.registry,
        contribute: (point, id, contribution) => this.#hold(slot, point, id, contribution),
        listen: (name, handler) => slot.undo.push(this.#listen(name, handler)),
        about: about => {
          slot.about = about
        },
        heap: bytes => {
          slot.heapBytes = bytes
        },
        lost: message => void this.#fail(slot, new HubError('plugin_failed', message)),
      },
    )
    slot.undo.push(() => plugin.stop())
    this.#rename(slot, plugin.name)
  }

  async #runInMain(slot: Slot, definition: PluginDefinition<unknown>): Promise<void> {
    this.#rename(slot, definition.name)
    slot.about = aboutPlugin(definition)
    const config = await parsePluginConfig(definition, slot.entry.config)
    const stop = new AbortController()
    slot.undo.push(() => stop.abort())
    const context: PluginContext<unknown> = {
      config,
      signal: stop.signal,
      log: this.#options.log(definition.name),
      registry: this.#options.registry,
      events: {
        on: (name: string, handler: (event: never) => void) =>
          void slot.undo.push(this.#listen(name, handler as (event: unknown) => void)),
      },
      fetch: createGuardedFetch({ ...this.#options.outbound, signal: stop.signal }),
      metrics: pluginMetrics(definition.name, this.#options.custom),
      contribute: (point, id, contribution) => this.#hold(slot, point, id, contribution),
      contributions: point => this.contributions(point),
    }
    const cleanup = await definition.setup(context)
    if (cleanup) slot.undo.push(cleanup)
  }

  #rename(slot: Slot, name: string): void {
    if (this.#slots.some(other => other.name === name && other !== slot && other.state === 'running')) {
      throw new Error(`another plugin is named "${name}" already`)
    }
    slot.name = name
  }

  #listen(name: string, handler: (event: unknown) => void): () => void {
    const relay = (event: { readonly audience: string }) => {
      if (event.audience !== 'internal') handler(event)
    }
    return name === '*' ? this.#options.bus.on('*', relay) : this.#options.bus.on(name as EventName, relay)
  }

  #hold(
    slot: Slot,
    point: keyof ExtensionPoints,
    id: string,
    contribution: ExtensionPoints[keyof ExtensionPoints],
  ): void {
    const map = this.contributions(point) as Map<string, ExtensionPoints[keyof ExtensionPoints]>
    if (slot.state === 'failed') throw new Error(`plugin "${slot.name}" has failed and can contribute no more`)
    if (!slot.definition) showTexts(point, id, contribution)
    const key = keyOf(slot, point, id)
    if (map.has(key)) throw new Error(`"${point}" has a contribution "${id}" already`)
    if (point === 'transport') this.#options.transports.add(contribution as TransportContribution)
    if (point === 'page') this.#holdPage(slot, id, contribution)
    if (point === 'mcpMiddleware') this.middlewares.hold(contribution as McpMiddleware, slot, key)
    map.set(key, point === 'transport' && !slot.definition ? this.#marked(contribution) : contribution)
    slot.held.push([point, key])
  }

  #holdPage(slot: Slot, id: string, contribution: unknown): void {
    const page = readPage(id, contribution, slot.file)
    if (slot.pages.some(({ path }) => path === page.path))
      throw new Error(`page "${id}": the plugin has a page "${page.path}" already`)
    slot.pages.push(page)
  }

  /** Marks the module of a transport, which may have changed since the plugin last started. */
  #marked(contribution: ExtensionPoints[keyof ExtensionPoints]): TransportContribution {
    const transport = contribution as TransportContribution
    this.#starts += 1
    return Object.assign(Object.create(transport), { module: `${transport.module}#${this.#starts}` })
  }

  async #fail(slot: Slot, error: unknown): Promise<void> {
    const message = visibleText(error instanceof Error ? error.message : String(error))
    slot.code = error instanceof HubError ? error.code : 'plugin_failed'
    slot.message = message
    slot.stack = stackOf(error)
    await this.#stopSlot(slot, 'failed')
    this.#options.log(slot.name).error(`Plugin "${slot.name}" failed and was withdrawn: ${message}`)
    this.#options.bus.emit('plugin.failed', null, { plugin: slot.name, message })
  }

  async #stopSlot(slot: Slot, state: PluginState): Promise<void> {
    slot.state = state
    for (const [point, id] of slot.held.splice(0)) {
      const contribution = this.#points.get(point)?.get(id)
      this.#points.get(point)?.delete(id)
      if (point === 'transport') this.#options.transports.remove((contribution as TransportContribution).transport)
    }
    const late = Promise.withResolvers<void>()
    const limit = setTimeout(late.resolve, STOP_LIMIT_MS)
    for (const undo of slot.undo.splice(0).reverse()) {
      try {
        await Promise.race([undo(), late.promise])
      } catch (error) {
        this.#options
          .log(slot.name)
          .warn(
            `Plugin "${slot.name}" threw while it was stopped: ${error instanceof Error ? error.message : String(error)}`,
          )
      }
    }
    clearTimeout(limit)
    this.#announce(slot)
    slot.pages.length = 0
  }

  /** Everybody is notified of a plugin with pages for everybody: their consoles show them, or no longer. */
  #announce({ name, state, pages }: Slot): void {
    const audience = pages.some(({ access }) => access === 'user') ? 'public' : 'owner'
    this.#options.bus.emit('plugin.changed', null, { plugin: name, state }, audience)
  }
}

/** Of an error that somebody must find in the plugin's code; a refused configuration has none worth showing. */
function stackOf(error: unknown): string | undefined {
  return error instanceof Error && !(error instanceof HubError)
    ? visibleText(error.stack?.slice(0, 8_000) ?? '')
    : undefined
}
