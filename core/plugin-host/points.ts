import type { ExtensionPoints } from '../contract/points.ts'
import type {} from '../features/mod.ts'
import { MAIN_ONLY_POINTS } from './main-only.ts'

type Contribution = ExtensionPoints[keyof ExtensionPoints]

/** The points of the hub itself. */
const HUB_POINTS = {
  transport: true,
  logSink: true,
  logStore: true,
  headerProvider: true,
  credentialSource: true,
  mcpMiddleware: true,
  callGate: true,
  groupResolver: true,
  tools: true,
  toolRanker: true,
  clientConfig: true,
  importSource: true,
  bridge: true,
  routes: true,
  callTracer: true,
  contentFilter: true,
  tokenVerifier: true,
  challenge: true,
  secondFactor: true,
  teamSource: true,
  notificationChannel: true,
  alertMetric: true,
  page: true,
  builtPage: true,
  serverTemplates: true,
  programSource: true,
  serverFields: true,
  attachedSettings: true,
  limitUse: true,
  healthCheck: true,
  metric: true,
} satisfies Partial<Record<keyof ExtensionPoints, true>>

/** Everything that plugins contribute, by point. Contributions to a point whose owner does not run wait until it does. */
export class PointTable {
  readonly #points = new Map<string, Map<string, Contribution>>()
  readonly #waiting = new Map<string, Map<string, Contribution>>()
  /** The plugin that has each point, and whether its contributions run in the main thread alone. */
  readonly #owned = new Map<string, { readonly plugin: string; readonly main: boolean }>()

  /** Live view: later contributions appear in it. */
  of<P extends keyof ExtensionPoints>(point: P): ReadonlyMap<string, ExtensionPoints[P]> {
    return inMap(this.#points, point) as unknown as ReadonlyMap<string, ExtensionPoints[P]>
  }

  /** True for a point whose contributions cannot come from a worker. */
  isMainOnly(point: string): boolean {
    return MAIN_ONLY_POINTS.includes(point) || this.#owned.get(point)?.main === true
  }

  /** Name of the running plugin that has the point; undefined for the hub's own points, and where no running plugin has it. */
  ownerOf(point: string): string | undefined {
    return this.#owned.get(point)?.plugin
  }

  isWaiting(point: string, key: string): boolean {
    return this.#waiting.get(point)?.has(key) === true
  }

  /** Throws Error for a point that the hub or another plugin has. */
  own(plugin: string, point: string, main: boolean): void {
    const other = Object.hasOwn(HUB_POINTS, point) ? 'the hub' : this.#owned.get(point)?.plugin
    if (other !== undefined) throw new Error(`its point "${point}" is there already, of ${other}`)
    this.#owned.set(point, { plugin, main })
    for (const [key, contribution] of inMap(this.#waiting, point)) inMap(this.#points, point).set(key, contribution)
    this.#waiting.delete(point)
  }

  /** Withdraws other plugins' contributions to the point, until a plugin has it again. */
  disown(point: string): void {
    this.#owned.delete(point)
    const there = inMap(this.#points, point)
    for (const [key, contribution] of there) inMap(this.#waiting, point).set(key, contribution)
    there.clear()
  }

  /** Throws Error when the point has a contribution of this key. */
  requireFree(point: string, key: string, id: string): void {
    if (this.#points.get(point)?.has(key) || this.isWaiting(point, key))
      throw new Error(`"${point}" has a contribution "${id}" already`)
  }

  add(point: string, key: string, contribution: Contribution): void {
    const isThere = Object.hasOwn(HUB_POINTS, point) || this.#owned.has(point)
    inMap(isThere ? this.#points : this.#waiting, point).set(key, contribution)
  }

  /** Returns the contribution that was removed. */
  remove(point: string, key: string): Contribution | undefined {
    const contribution = this.#points.get(point)?.get(key)
    this.#points.get(point)?.delete(key)
    this.#waiting.get(point)?.delete(key)
    return contribution
  }
}

function inMap(maps: Map<string, Map<string, Contribution>>, point: string): Map<string, Contribution> {
  const known = maps.get(point) ?? new Map<string, Contribution>()
  maps.set(point, known)
  return known
}
