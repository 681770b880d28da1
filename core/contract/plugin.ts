import type { ErrorCodes } from './codes.ts'
import type { ErrorKind, EventKind, Limits, PointKind } from './definition.ts'
import type { HubError, HubErrorOptions } from './errors.ts'
import type { EventView } from './events.ts'
import type { GuardedFetch } from './fetch.ts'
import type { PluginJobs, PluginSettings } from './kept.ts'
import type { ExtensionPoints } from './points.ts'
import type { Actor, GroupMember, GroupRecord, ServerRecord } from './records.ts'
import type { PluginRoutes } from './routes.ts'
import type { ConfigSchema } from './schema.ts'
import type { Migration, PluginTables } from './tables.ts'

/** Version of this contract; raised only by a change that breaks existing plugins. */
export const CONTRACT = 1

/** Runs when the plugin stops; undefined when there is nothing to clean up. */
export type Cleanup = undefined | (() => void | Promise<void>)

/** Writes to the hub's log under the plugin's name; `fields` are added to the record. */
export interface PluginLogger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** The registry as a plugin sees it: every call takes the actor on whose behalf it is made. */
export interface RegistryView {
  group(actor: Actor, owner: string | undefined, name: string): Promise<GroupRecord | undefined>
  groupById(actor: Actor, groupId: string): Promise<GroupRecord | undefined>
  server(actor: Actor, serverId: string): Promise<ServerRecord | undefined>
  /** The server of exactly this owner, or the actor's own one of that name; undefined when the actor may not see it. */
  serverByName(actor: Actor, owner: string | undefined, name: string): Promise<ServerRecord | undefined>
  /** Every server that the actor owns, by name. */
  ownServers(actor: Actor): Promise<readonly ServerRecord[]>
  /** The members of a group whose servers this actor may use, in group order. */
  usableMembers(
    actor: Actor,
    group: GroupRecord,
  ): Promise<readonly { readonly member: GroupMember; readonly server: ServerRecord }[]>
}

/**
 * Numbers of the plugin at `/metrics`, as `patchbay_custom_total` and `patchbay_custom_value` with the owner
 * `plugin:<name>`. Names: lower-case letters, digits and `_`, at most 64; labels: at most 5, not `owner` or `name`. Throws
 * TypeError for others and for numbers that are not finite, and HubError `quota_custom_metrics` beyond 200 series; of an
 * isolated plugin both are logged.
 */
export interface PluginMetrics {
  /** Adds `by`, 1 by default and not negative, to a counter. */
  count(name: string, by?: number, labels?: Readonly<Record<string, string>>): void
  gauge(name: string, value: number, labels?: Readonly<Record<string, string>>): void
}

/** The argument of `setup`; valid until the plugin stops. */
export interface PluginContext<Config> {
  readonly config: Config
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
  readonly log: PluginLogger
  readonly registry: RegistryView
  readonly events: EventView
  /** Requests to addresses that an administrator may reach; follows no redirect. Closed when the plugin stops. */
  readonly fetch: GuardedFetch
  readonly metrics: PluginMetrics
  /** The limits of the definition, or what an administrator has set in their place. */
  readonly limits: Limits
  readonly routes: PluginRoutes
  readonly jobs: PluginJobs
  readonly settings: PluginSettings
  /** In the main thread alone, as `contributions` of own points. */
  tables<Schema>(): PluginTables<Schema>
  /** The plugin's own folder in the data folder; it stays when the plugin ends. */
  folder(): Promise<string>
  /** Makes an error with one of the definition's codes, to be thrown to the caller. */
  error<C extends keyof ErrorCodes & string>(code: C, message: string, options?: HubErrorOptions<C>): HubError<C>
  /** Adds a contribution to an extension point until the plugin stops. `id` is unique per point; of routes and pages, in the plugin. */
  contribute<P extends keyof ExtensionPoints>(point: P, id: string, contribution: ExtensionPoints[P]): void
  contributions<P extends keyof ExtensionPoints>(point: P): ReadonlyMap<string, ExtensionPoints[P]>
}

/** The default export of a plugin. */
export interface PluginDefinition<Config = undefined> {
  /** Unique in one hub; lower-case letters, digits and dashes. */
  readonly name: string
  readonly contract: typeof CONTRACT
  /** For administrators, at most 64 characters. */
  readonly version?: string
  /** Plugins that must run before this one, which fails until they do; a name that ends with `?` may be missing. */
  readonly needs?: readonly string[]
  /** Environment variables `{PLUGIN}_…`, each with the member of `config` that it sets unless the settings do. */
  readonly variables?: Readonly<Record<string, string>>
  /** Numbers that an administrator may change. `GET /api/limits` lists them. */
  readonly limits?: Readonly<Record<keyof Limits | (string & {}), number>>
  /** Codes of its own, `{plugin}_…`; those of bundled plugins may have any name. */
  readonly errors?: Readonly<Record<string, ErrorKind>>
  /** Codes of fields in `errors` of `validation_failed`, each with its meaning. */
  readonly fieldCodes?: Readonly<Record<string, string>>
  /**
   * Chinese for the texts by which it speaks to people, by the text: titles and remedies of its errors, notes, warnings; and for its codes of fields, by the code. At most
   * 1,000, of 1,000 characters each.
   */
  readonly words?: Readonly<Record<string, string>>
  /** Events of its own, `{plugin}.…`, which `events.emit` emits. */
  readonly events?: Readonly<Record<string, EventKind>>
  readonly points?: Readonly<Record<string, PointKind>>
  /** Changes of its tables, before `setup`. When one fails the tables stay as they were, and the plugin does not start. */
  readonly migrations?: Readonly<Record<string, Migration>>
  /** Validates the plugin's block of `mcp_settings.json`; without it the block must be absent. */
  readonly config?: ConfigSchema<Config>
  /** Adds the contributions, within 10 s. The returned function runs when the plugin stops. */
  setup(context: PluginContext<Config>): Cleanup | Promise<Cleanup>
}

/** Returns the definition unchanged, with its types checked. */
export function definePlugin<Config = undefined>(definition: PluginDefinition<Config>): PluginDefinition<Config> {
  return definition
}
