import type { PluginLogger, PluginMetrics, RegistryView } from '../contract/plugin.ts'
import type { ExtensionPoints } from '../contract/points.ts'
import type { PluginAbout } from './about.ts'
import type { OpenRoute } from './services/routes.ts'

/** An isolated plugin that runs. */
export interface IsolatedPlugin {
  readonly name: string
  stop(): Promise<void>
}

/** The functions of the plugin host that an isolated plugin's port uses. */
export interface IsolatedPluginHost {
  readonly log: PluginLogger
  /** Returns the metrics of the plugin of this name. */
  readonly metrics: (plugin: string) => PluginMetrics
  readonly registry: RegistryView
  isMainOnly(point: string): boolean
  contribute(point: keyof ExtensionPoints, id: string, contribution: ExtensionPoints[keyof ExtensionPoints]): void
  listen(name: string, handler: (event: unknown) => void): void
  /** Throws TypeError for an event that is none of the plugin's. */
  emit(name: string, ownerId: string | null, data: unknown): void
  /** Takes the description in its module, before setup. */
  about(about: PluginAbout): void
  /** A service of the hub, such as `admit`, which the worker asks for before setup. */
  serve(method: string, args: readonly unknown[]): Promise<unknown>
  addRoute(route: OpenRoute): void
  /** Bytes of JavaScript's heap in the worker, every 5 s. */
  heap(bytes: number): void
  /** The worker ended by itself or was terminated for not responding: its contributions must be withdrawn. */
  lost(message: string): void
}
