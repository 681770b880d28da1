import type { ErrorCode } from '../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { type ConfigShape, shownConfig } from './shown-config.ts'
import { idOf, type MiddlewareCounts, type PluginState, type Slot } from './slot.ts'

/** A plugin in the list for administrators. */
export interface PluginInfo {
  readonly name: string
  readonly state: PluginState
  readonly bundled: boolean
  readonly isolated: boolean
  /** As `point/id`. */
  readonly contributions: readonly string[]
  /** SHA-256 of the entry file, hex; not for bundled ones. */
  readonly sha256?: string
  /** Why it failed: the code of its error, or `plugin_failed`. */
  readonly code?: ErrorCode
  /** The same in words. */
  readonly message?: string
  /** Of the failure. */
  readonly stack?: string
  /** As the plugin calls it. */
  readonly version?: string
  /** With masks in place of secrets; absent: it has none. */
  readonly config?: JsonObject
  /** JSON Schema of the configuration, once the plugin was loaded and where its schema can be written so. */
  readonly configSchema?: JsonObject
  /** False: it takes no configuration. Absent: it was never loaded. */
  readonly configurable?: boolean
  /** Starts since the hub's own. */
  readonly starts: number
  /** ISO 8601 UTC. */
  readonly startedAt?: string
  /** Bytes of JavaScript's heap in the plugin's worker, at most 5 s old. */
  readonly heapBytes?: number
  /** Counts of the effects of its middlewares since the hub's start. */
  readonly middleware?: MiddlewareCounts
}

/** What administrators see of a slot. */
export function infoOf(slot: Slot): PluginInfo {
  const { name, state, isolated, sha256, code, message, stack, about, starts, startedAt } = slot
  const { config } = slot.entry
  const heapBytes = state === 'running' ? slot.heapBytes : undefined
  return {
    ...{ name, state, bundled: slot.definition !== undefined, isolated },
    contributions: slot.held.map(([point, key]) => `${point}/${idOf(slot, point, key)}`),
    ...given({ sha256, code, message, stack, startedAt: state === 'running' ? startedAt : undefined, heapBytes }),
    ...given({ middleware: slot.middleware }),
    ...about,
    ...(isJsonObject(config) ? { config: shownConfig(config, shapeOf(slot)) } : {}),
    starts,
  }
}

/** What is known of the schema of a plugin's configuration. */
export function shapeOf({ about }: Slot): ConfigShape {
  return about === undefined ? 'unread' : about.configSchema
}

function given<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}
