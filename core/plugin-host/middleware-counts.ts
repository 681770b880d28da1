import type { PluginLogger } from '../contract/plugin.ts'
import type { McpMiddleware } from '../contract/points.ts'
import { idOf, type MiddlewareCounts, type Slot } from './slot.ts'

const WARN_MS = 60_000
const MOST_CHARACTERS = 500

type Counted = 'refused' | 'failed' | 'skipped'

interface Holder {
  readonly slot: Slot
  /** The key of the contribution. */
  readonly key: string
}

/** Counts what the middlewares of each plugin do, and warns of failures at most once a minute for each plugin. */
export class MiddlewareCounter {
  readonly #log: (plugin: string) => Pick<PluginLogger, 'warn'>
  readonly #holders = new WeakMap<McpMiddleware, Holder>()
  /** Time of the last warning about each plugin, and its failures since then. */
  readonly #warned = new Map<string, { readonly atMs: number; more: number }>()

  constructor(log: (plugin: string) => Pick<PluginLogger, 'warn'>) {
    this.#log = log
  }

  hold(middleware: McpMiddleware, slot: Slot, key: string): void {
    this.#holders.set(middleware, { slot, key })
  }

  pluginOf(middleware: McpMiddleware): string {
    return this.#holders.get(middleware)?.slot.name ?? ''
  }

  ended(middleware: McpMiddleware, how: Counted, error?: unknown): void {
    const holder = this.#holders.get(middleware)
    if (!holder) return
    const { slot, key } = holder
    const before: MiddlewareCounts = slot.middleware ?? { refused: 0, failed: 0, skipped: 0 }
    slot.middleware = { ...before, [how]: before[how] + 1 }
    if (how === 'refused') return
    const message = (error instanceof Error ? error.message : String(error)).slice(0, MOST_CHARACTERS)
    const contribution = idOf(slot, 'mcpMiddleware', key)
    slot.middleware = { ...slot.middleware, lastFailure: { at: new Date().toISOString(), contribution, message } }
    this.#warn(slot.name, contribution, how, message)
  }

  #warn(plugin: string, contribution: string, how: Counted, message: string): void {
    const last = this.#warned.get(plugin)
    if (last && performance.now() - last.atMs < WARN_MS) {
      last.more += 1
      return
    }
    this.#warned.set(plugin, { atMs: performance.now(), more: 0 })
    const what = how === 'skipped' ? 'was skipped' : 'the request was refused'
    const more = last && last.more > 0 ? `; ${last.more} more failures since the last warning` : ''
    this.#log(plugin).warn(`A middleware failed and ${what}: ${message}${more}`, { contribution })
  }
}
