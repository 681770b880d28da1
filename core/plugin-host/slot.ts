import { type ErrorCode, HubError } from '../contract/errors.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import type { ExtensionPoints } from '../contract/points.ts'
import { visibleText } from '../domain/text/visible-text.ts'
import type { Route } from '../http/route.ts'
import type { PluginAbout } from './about.ts'
import { MissingNeeds } from './needs.ts'
import type { HeldBuiltPage, HeldPage } from './pages.ts'
import type { PluginEntry } from './resolve.ts'
import type { OpenRoute } from './services/routes.ts'

/** `failed` after an error, `disabled` by its settings, `stopped` with the hub. */
export type PluginState = 'running' | 'failed' | 'disabled' | 'stopped'

/** Number of requests that a plugin's middlewares refused or answered, that were refused because one failed, and in which one was skipped. */
export interface MiddlewareCounts {
  readonly refused: number
  readonly failed: number
  readonly skipped: number
  readonly lastFailure?: { readonly at: string; readonly contribution: string; readonly message: string }
}

/** One plugin of the host, from its entry to its end. */
export interface Slot {
  readonly entry: PluginEntry
  readonly definition: PluginDefinition<unknown> | undefined
  name: string
  state: PluginState
  isolated: boolean
  sha256: string | undefined
  /** The entry file; undefined for bundled ones. */
  file: string | undefined
  /** Known once its module was loaded. */
  about: PluginAbout | undefined
  starts: number
  startedAt: string | undefined
  heapBytes: number | undefined
  /** Counts of the effects of its middlewares since the hub's start; undefined before the first. */
  middleware: MiddlewareCounts | undefined
  /** Why it failed, by its stable code and in words. */
  code: ErrorCode | undefined
  message: string | undefined
  stack: string | undefined
  /** Names of the plugins for which it waits. */
  missing: readonly string[] | undefined
  /** The effective limits. */
  limits: Readonly<Record<string, number>>
  readonly routes: OpenRoute[]
  /** Routes of its kinds of records, with whole paths. */
  readonly recordRoutes: Route[]
  /** Number of its jobs that threw. */
  failedJobs: () => number
  readonly held: [point: keyof ExtensionPoints, id: string][]
  readonly pages: HeldPage[]
  /** Pages of the console's own that it has while the plugin runs. */
  readonly builtPages: HeldBuiltPage[]
  undo: (() => void | Promise<void>)[]
  /** True from the moment when it is stopped or has failed. */
  isClosed: boolean
  /** True from the moment when its clean-up and its jobs have ended, or had 5 s: what is left of it stores nothing any more. */
  isOver: boolean
}

/** Throws Error for a plugin that has ended: nothing would withdraw what it adds after that. */
export function requireOpen({ name, isClosed }: Pick<Slot, 'name' | 'isClosed'>): void {
  if (isClosed) throw new Error(`plugin "${name}" has ended and can add nothing more`)
}

/** Throws Error for a plugin of which the clean-up and the jobs have ended, too. */
export function requireWriting({ name, isOver }: Pick<Slot, 'name' | 'isOver'>): void {
  if (isOver) throw new Error(`plugin "${name}" has ended and can store nothing more`)
}

/** Throws Error for an error code of a plugin from elsewhere that another one has: bundled, or running. */
export function requireOwnCodes({ name, about, definition }: Slot, all: readonly Slot[]): void {
  if (definition) return
  for (const other of all) {
    if (other.name === name) continue
    const running = other.state === 'running' ? (other.about?.errors ?? []) : []
    const theirs = new Set([...running, ...Object.keys(other.definition?.errors ?? {})])
    const same = about?.errors?.find(code => theirs.has(code))
    if (same !== undefined)
      throw new Error(`"errors" of its definition has "${same}", which is a code of plugin "${other.name}"`)
  }
}

/** The key of a contribution. Routes and pages are keyed below their plugin's name, so that two plugins may use the same id. */
export function keyOf({ entry }: Pick<Slot, 'entry'>, point: keyof ExtensionPoints, id: string): string {
  return point === 'routes' || point === 'page' ? `${entry.use}/${id}` : id
}

/** The id that the plugin gave it. */
export function idOf({ entry }: Pick<Slot, 'entry'>, point: keyof ExtensionPoints, key: string): string {
  return key.slice(keyOf({ entry }, point, '').length)
}

/** A plugin that was not started yet. */
export function newSlot(entry: PluginEntry, definition: PluginDefinition<unknown> | undefined): Slot {
  return {
    entry,
    definition,
    name: definition?.name ?? entry.use,
    state: 'stopped',
    isolated: false,
    ...{ sha256: undefined, file: undefined, about: undefined },
    ...{ starts: 0, startedAt: undefined, heapBytes: undefined, middleware: undefined },
    ...{ code: undefined, message: undefined, stack: undefined },
    ...{ missing: undefined, limits: {}, routes: [], recordRoutes: [], failedJobs: () => 0 },
    ...{ held: [], pages: [], builtPages: [] },
    undo: [],
    isClosed: false,
    isOver: false,
  }
}

/** Makes a slot for the next start of a plugin, with the facts that are known from the last one. */
export function renewedSlot(old: Slot, entry: PluginEntry): Slot {
  const { name, about, starts, middleware } = old
  return Object.assign(newSlot(entry, old.definition), { name, about, starts, middleware })
}

/** Stores the reason why a plugin failed; returns its text. */
export function noteFailure(slot: Slot, error: unknown): string {
  slot.code = error instanceof HubError ? error.code : 'plugin_failed'
  slot.message = visibleText(error instanceof Error ? error.message : String(error))
  slot.stack = stackOf(error)
  return slot.message
}

/**
 * Returns the stack of an error, which helps to find it in the plugin's code; a refused configuration has none worth showing.
 */
function stackOf(error: unknown): string | undefined {
  return error instanceof Error && !(error instanceof HubError || error instanceof MissingNeeds)
    ? visibleText(error.stack?.slice(0, 8_000) ?? '')
    : undefined
}
