import { HubError } from '../contract/errors.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import type { ExtensionPoints, McpMiddleware } from '../contract/points.ts'
import type { Actor } from '../contract/records.ts'
import * as logKit from '../log-kit/mod.ts'
import * as pluginKit from '../plugin-kit/mod.ts'
import { registerPluginModules } from '../transport-kit/module.ts'
import { checkedChange } from './config-check.ts'
import { checkContribution } from './contribution-texts.ts'
import type { PluginChange, PluginHostOptions } from './host-options.ts'
import { infoOf, type PluginInfo } from './info.ts'
import { MiddlewareCounter } from './middleware-counts.ts'
import { circleOf, hardNeeds, inOrder, MissingNeeds } from './needs.ts'
import { type HeldBuiltPage, holdPage, type OpenPage } from './pages.ts'
import { PointTable } from './points.ts'
import { asDefinition, type PluginEntry, resolvePlugin } from './resolve.ts'
import { RouteTable } from './route-table.ts'
import { type HostAccess, runInMain, runInWorker, setupLimit } from './run.ts'
import { declareToServers, markedTransport, openToServers } from './server-points.ts'
import {
  keyOf,
  newSlot,
  noteFailure,
  type PluginState,
  renewedSlot,
  requireOpen,
  requireOwnCodes,
  type Slot,
} from './slot.ts'
import { endSlot } from './slot-end.ts'

/** Plugins that are not bundled. */
const MOST_ADDED = 64

/**
 * Starts plugins in order, withdraws the contributions of one that fails, and continues without it unless it is
 * `required`. Stops them in reverse order.
 */
export class PluginHost {
  readonly #options: PluginHostOptions
  readonly #slots: Slot[]
  readonly #points = new PointTable()
  /** True while plugins still have to start: meanwhile a plugin that waits for others has not failed. */
  #isStarting = false
  #isEnding = false
  /** The last change of plugins, after which the next one runs. */
  #last: Promise<unknown> = Promise.resolve()

  /** Routes of the plugins that run. */
  readonly routes: RouteTable
  /** Counts of the effects of middlewares, by plugin. */
  readonly middlewares: MiddlewareCounter
  #starts = 0

  constructor(options: PluginHostOptions) {
    this.#options = options
    this.middlewares = new MiddlewareCounter(options.log)
    this.routes = new RouteTable(() => this.#slots, this.#points, options.log)
    const configured = new Map(options.entries.map(entry => [entry.use, entry]))
    const entryOf = (name: string): PluginEntry => configured.get(name) ?? { use: name }
    const bundled = inOrder(options.bundled).map(definition => newSlot(entryOf(definition.name), definition))
    declareToServers(options)
    const names = new Set(options.bundled.map(definition => definition.name))
    this.#slots = [
      ...bundled,
      ...options.entries.filter(entry => !names.has(entry.use)).map(entry => newSlot(entry, undefined)),
    ]
  }

  /** Resolves when each plugin runs or has failed. Throws only when one that is `required` failed. */
  start(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isStarting = true
      for (const slot of this.#slots) await this.#startSlot(slot)
      await this.#settle(true)
      this.#isStarting = false
      await this.#settle(true)
    })
  }

  /** Stops all plugins in parallel, the last one first, in 5 s at most. Those with a contribution to the point `but` run on. */
  async stop(but?: keyof ExtensionPoints): Promise<void> {
    this.#isEnding = true
    const isLeft = ({ held }: Slot): boolean => held.some(([point]) => point === but)
    const running = this.#running.filter(slot => !isLeft(slot)).reverse()
    await Promise.all(running.map(slot => this.#stopSlot(slot, 'stopped')))
  }

  /** Live view: later contributions appear in it. */
  contributions<P extends keyof ExtensionPoints>(point: P): ReadonlyMap<string, ExtensionPoints[P]> {
    return this.#points.of(point)
  }

  list(): readonly PluginInfo[] {
    return this.#slots.map(slot => infoOf(slot, (point, key) => this.#points.isWaiting(point, key)))
  }

  /** Chinese for texts of all plugins that run. */
  words(): Readonly<Record<string, string>> {
    return Object.assign({}, ...this.#running.map(({ about }) => about?.words))
  }

  /** The pages of the console that it has while plugins run. */
  builtPages(): readonly HeldBuiltPage[] {
    return this.#running.flatMap(({ builtPages }) => builtPages)
  }

  /** The pages of all plugins that run. */
  pages(): readonly OpenPage[] {
    return this.#running.flatMap(({ name, pages }) => pages.map(page => ({ ...page, plugin: name })))
  }

  /**
   * Restarts one plugin with its new settings; undefined when there is none of that name. Throws `validation_failed`
   * for a configuration that the plugin rejects: it is not stopped for one that its schema rejects, and started again
   * with its old one where its setup does. Masks in the configuration stand for the secrets that it has.
   */
  configure(actor: Actor, name: string, wanted: PluginChange): Promise<PluginInfo | undefined> {
    return this.#inTurn(() => this.#configure(actor, name, wanted))
  }

  async #configure(actor: Actor, name: string, wanted: PluginChange): Promise<PluginInfo | undefined> {
    const old = this.#slots.find(slot => slot.name === name)
    if (!old) return undefined
    const change = await checkedChange(actor, old, wanted, this.#options)
    if (old.state === 'running') await this.#stopSlot(old, 'stopped')
    const next = this.#renew(old, { ...old.entry, ...change })
    const refusal = await this.#startSlot(next, false)
    await this.#settle()
    if (change.config !== undefined && refusal instanceof HubError && refusal.code === 'validation_failed') {
      await this.#startSlot(this.#renew(next, old.entry), false)
      await this.#settle()
      throw refusal
    }
    return this.list().find(info => info.name === next.name)
  }

  /**
   * Adds and starts a plugin; one that waits for others is kept. Undefined when there is one of this entry already. Throws
   * `plugin_failed` for one that does not start, and `overloaded` beyond the limit.
   */
  install(entry: PluginEntry): Promise<PluginInfo | undefined> {
    return this.#inTurn(() => this.#install(entry))
  }

  async #install(entry: PluginEntry): Promise<PluginInfo | undefined> {
    if (this.#slots.some(({ name, entry: { use } }) => name === entry.use || use === entry.use)) return undefined
    if (this.#slots.filter(({ definition }) => !definition).length >= MOST_ADDED)
      throw new HubError('overloaded', `There are ${MOST_ADDED} plugins that are not bundled, which is the limit`)
    const slot = newSlot(entry, undefined)
    this.#slots.push(slot)
    const refusal = await this.#startSlot(slot, false)
    if (refusal !== undefined && !slot.missing) {
      this.#slots.splice(this.#slots.indexOf(slot), 1)
      throw refusal instanceof HubError ? refusal : new HubError('plugin_failed', slot.message ?? 'It did not start')
    }
    await this.#settle()
    return this.list().find(({ name }) => name === slot.name)
  }

  /** Stops and forgets a plugin that is not bundled, whose tables and folder stay. False when there is none of that name. */
  remove(name: string): Promise<boolean> {
    return this.#inTurn(() => this.#remove(name))
  }

  async #remove(name: string): Promise<boolean> {
    const slot = this.#slots.find(each => each.name === name && !each.definition)
    if (!slot) return false
    if (slot.state === 'running') await this.#stopSlot(slot, 'stopped')
    this.#slots.splice(this.#slots.indexOf(slot), 1)
    await this.#settle()
    return true
  }

  /** Runs changes one after the other: two starts of one plugin at once would leave contributions of both behind. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(change)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Replaces the last slot by one for the next start. */
  #renew(old: Slot, entry: PluginEntry): Slot {
    const next = renewedSlot(old, entry)
    this.#slots[this.#slots.indexOf(old)] = next
    return next
  }

  /** Resolves with the error when it failed; undefined when it runs, or is disabled. */
  async #startSlot(slot: Slot, mayEndTheHub = true): Promise<unknown> {
    if (slot.entry.enabled === false) {
      slot.state = 'disabled'
      this.#announce(slot)
      return undefined
    }
    const limit = setupLimit()
    slot.starts += 1
    const run = this.#run(slot)
    try {
      await Promise.race([run, limit.late])
      slot.state = 'running'
      slot.startedAt = new Date().toISOString()
      this.#announce(slot)
      return undefined
    } catch (thrown) {
      const error = thrown ?? new Error('its setup threw nothing that says why')
      slot.missing = error instanceof MissingNeeds ? error.names : undefined
      if (slot.missing && this.#isStarting) return error
      await this.#fail(slot, error)
      // A setup that ends after its time is up may have left a clean-up or a worker behind.
      const undoLate = () => endSlot(slot, this.#options, this.#points)
      void run.then(undoLate, undoLate)
      if (mayEndTheHub && slot.entry.required)
        throw new Error(`Required plugin "${slot.name}" failed: ${slot.message}`, { cause: error })
      return error
    } finally {
      limit.clear()
    }
  }

  async #run(slot: Slot): Promise<void> {
    if (slot.definition) return this.#runInMain(slot, slot.definition)
    const { file, sha256 } = await resolvePlugin(slot.entry.use, this.#options.folder)
    slot.sha256 = sha256
    slot.file = file
    slot.isolated = slot.entry.isolate !== false
    if (!slot.isolated) {
      registerPluginModules({ 'patchbay/log-kit': logKit, 'patchbay/plugin-kit': pluginKit })
      // A module is cached by its specifier, so a changed file gets another specifier.
      return this.#runInMain(slot, asDefinition(await import(`${file}?${sha256}`), slot.entry.use))
    }
    return runInWorker(slot, file, this.#access)
  }

  async #runInMain(slot: Slot, definition: PluginDefinition<unknown>): Promise<void> {
    this.#rename(slot, definition.name)
    await runInMain(slot, definition, this.#access)
  }

  get #access(): HostAccess {
    return {
      options: this.#options,
      points: this.#points,
      hold: (slot, point, id, contribution) => this.#hold(slot, point, id, contribution),
      rename: (slot, name) => this.#rename(slot, name),
      lost: (slot, message) => void this.#inTurn(() => this.#lost(slot, message)),
      requireNeeds: ({ name, about }) => {
        const missing = hardNeeds(about?.needs).filter(need => !this.#runs(need))
        const needsOf = (of: string) => this.#slots.find(slot => slot.name === of)?.about?.needs
        if (missing.length > 0) throw new MissingNeeds(missing, circleOf(name, needsOf))
      },
      requireOwnCodes: slot => requireOwnCodes(slot, this.#slots),
    }
  }

  get #running(): readonly Slot[] {
    return this.#slots.filter(({ state }) => state === 'running')
  }

  #runs(name: string): boolean {
    return this.#running.some(slot => slot.name === name)
  }

  /**
   * Starts the plugins whose needs run by now, until no more can start. Those that still miss something fail, once all had
   * their turn.
   */
  async #settle(mayEndTheHub = false): Promise<void> {
    if (this.#isEnding) return
    const waits = ({ missing, state }: Slot): boolean => missing !== undefined && state !== 'running'
    for (let isMore = true; isMore; ) {
      isMore = false
      for (const slot of this.#slots.filter(waits)) {
        const isReady = slot.missing?.every(name => this.#runs(name)) === true
        const isFirst = slot.state === 'stopped' && !this.#isStarting
        if (!isReady && !isFirst) continue
        const next = this.#renew(slot, slot.entry)
        await this.#startSlot(next, mayEndTheHub)
        isMore ||= next.state === 'running'
      }
    }
  }

  #rename(slot: Slot, name: string): void {
    // The name of a bundled plugin opens its stored values, whether it runs or not.
    const others = this.#slots.filter(other => other.name === name && other !== slot)
    if (others.some(({ state, definition }) => state === 'running' || definition))
      throw new Error(`another plugin is named "${name}" already`)
    slot.name = name
  }

  #hold(
    slot: Slot,
    point: keyof ExtensionPoints,
    id: string,
    contribution: ExtensionPoints[keyof ExtensionPoints],
  ): void {
    requireOpen(slot)
    checkContribution(slot, point, id, contribution)
    const key = keyOf(slot, point, id)
    this.#points.requireFree(point, key, id)
    openToServers(this.#options, slot.name, point, id, contribution)
    if (point === 'page' || point === 'builtPage') holdPage(slot, point, id, contribution)
    if (point === 'mcpMiddleware') this.middlewares.hold(contribution as McpMiddleware, slot, key)
    const isOutside = point === 'transport' && !slot.definition
    this.#points.add(point, key, isOutside ? markedTransport(contribution, ++this.#starts) : contribution)
    slot.held.push([point, key])
  }

  /** Withdraws a plugin whose worker has ended by itself. One that failed or stopped before has been withdrawn. */
  async #lost(slot: Slot, message: string): Promise<void> {
    if (slot.state !== 'running') return
    await this.#fail(slot, new HubError('plugin_failed', message))
    await this.#settle()
  }

  async #fail(slot: Slot, error: unknown): Promise<void> {
    const message = noteFailure(slot, error)
    await this.#stopSlot(slot, 'failed')
    this.#options.log(slot.name).error(`Plugin "${slot.name}" failed and was withdrawn: ${message}`)
    this.#options.bus.emit('plugin.failed', null, { plugin: slot.name, message })
  }

  async #stopSlot(slot: Slot, state: PluginState): Promise<void> {
    slot.state = state
    await endSlot(slot, this.#options, this.#points)
    slot.routes.length = 0
    slot.recordRoutes.length = 0
    this.#announce(slot)
    slot.pages.length = 0
    slot.builtPages.length = 0
    await this.#stopDependents(slot)
  }

  /** Stops the plugins that need this one; they wait until it is back. */
  async #stopDependents({ name }: Slot): Promise<void> {
    if (this.#isEnding) return
    for (const other of this.#slots) {
      if (other.state !== 'running' || !hardNeeds(other.about?.needs).includes(name)) continue
      other.missing = [name]
      await this.#stopSlot(other, 'stopped')
    }
  }

  /** Notifies everybody of a plugin with pages for everybody, so that their consoles show or remove the pages. */
  #announce({ name, state, pages, builtPages }: Slot): void {
    const audience = [...pages, ...builtPages].some(({ access }) => access === 'user') ? 'public' : 'owner'
    this.#options.bus.emit('plugin.changed', null, { plugin: name, state }, audience)
  }
}
