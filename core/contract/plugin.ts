import type { EventView } from './events.ts'
import type { GuardedFetch } from './fetch.ts'
import type { ExtensionPoints } from './points.ts'
import type { Actor, GroupMember, GroupRecord, ServerRecord } from './records.ts'

/** Version of this contract; raised only by a change that breaks existing plugins. */
export const CONTRACT = 1

/** Runs when the plugin stops; undefined when there is nothing to clean up. */
export type Cleanup = undefined | (() => void | Promise<void>)

/** The part of the Standard Schema interface that the host calls (https://standardschema.dev). */
export interface ConfigSchema<Config> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (
      value: unknown,
    ) =>
      | { readonly value: Config; readonly issues?: undefined }
      | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }
      | Promise<
          | { readonly value: Config; readonly issues?: undefined }
          | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] }
        >
    /**
     * The schema as JSON Schema (https://standardschema.dev/json-schema); schemas of zod have it. The console draws its form
     * by it; `writeOnly: true` marks a secret.
     */
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown> }
  }
}

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

/** What `setup` gets; valid until the plugin stops. */
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
  /** Validates the plugin's block of `mcp_settings.json`; without it the block must be absent. */
  readonly config?: ConfigSchema<Config>
  /** Adds the contributions, within 10 s. The returned function runs when the plugin stops. */
  setup(context: PluginContext<Config>): Cleanup | Promise<Cleanup>
}

/** Returns the definition unchanged, with its types checked. */
export function definePlugin<Config = undefined>(definition: PluginDefinition<Config>): PluginDefinition<Config> {
  return definition
}
