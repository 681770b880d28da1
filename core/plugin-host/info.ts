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
  /** The same as a sentence. */
  readonly message?: string
  /** Stack of the failure. */
  readonly stack?: string
  /** The version that the plugin states. */
  readonly version?: string
  /** The configuration with masks in place of secrets; absent: it has none. */
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
  /** Contributions to points of plugins that do not run, as `point/id`. */
  readonly waiting?: readonly string[]
  /** Its routes with schemas, such as `GET /books/{id}`. */
  readonly routes?: readonly string[]
  readonly limits?: Readonly<Record<string, number>>
  readonly failedJobs?: number
}

/** Describes a slot for administrators. */
export function infoOf(slot: Slot, isWaiting: (point: string, key: string) => boolean = () => false): PluginInfo {
  const { name, state, isolated, sha256, code, message, stack, about, starts, startedAt } = slot
  const { config } = slot.entry
  const heapBytes = state === 'running' ? slot.heapBytes : undefined
  return {
    ...{ name, state, bundled: slot.definition !== undefined, isolated },
    contributions: named(slot, key => !isWaiting(...key)),
    ...given({ sha256, code, message, stack, startedAt: state === 'running' ? startedAt : undefined, heapBytes }),
    ...given({ middleware: slot.middleware }),
    ...about,
    ...ownThings(
      slot,
      named(slot, key => isWaiting(...key)),
    ),
    ...(isJsonObject(config) ? { config: shownConfig(config, shapeOf(slot)) } : {}),
    starts,
  }
}

function named(slot: Slot, which: (held: Slot['held'][number]) => boolean): string[] {
  return slot.held.filter(which).map(([point, key]) => `${point}/${idOf(slot, point, key)}`)
}

function ownThings({ name, routes, recordRoutes, limits, failedJobs }: Slot, waiting: readonly string[]) {
  const own = routes.map(({ described: { method, path } }) => `${method} ${path}`)
  const ofRecords = recordRoutes.map(({ method, path }) => `${method} ${path.slice(`/api/plugins/${name}`.length)}`)
  const shown = [...own, ...ofRecords]
  return {
    ...(waiting.length > 0 ? { waiting } : {}),
    ...(shown.length > 0 ? { routes: shown } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(failedJobs() > 0 ? { failedJobs: failedJobs() } : {}),
  }
}

/** Returns the schema of a plugin's configuration, as far as it is known. */
export function shapeOf({ about }: Slot): ConfigShape {
  return about === undefined ? 'unread' : about.configSchema
}

function given<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never
}
