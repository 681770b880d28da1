import type { JsonValue } from '../../contract/json.ts'

declare module '../../contract/plugin.ts' {
  interface PluginDefinition<Config> {
    /**
     * Settings of the hub that are the plugin's, by key, whether it runs or not: in `systemConfig` of the settings file, in
     * `/api/admin/settings`, as a variable, and in `context.systemSettings()`. Of bundled plugins alone, each of which is listed in
     * `core/hub/bundled-settings.ts` too: they are read before any plugin is loaded. Others have their block (`config`).
     */
    readonly hubSettings?: HubSettingKinds
  }
}

/** Settings by key. */
export type HubSettingKinds = Readonly<Record<string, HubSetting>>

/** One setting. */
export interface HubSetting {
  /** The environment variable, which outranks the settings file, which outranks what an administrator has set. */
  readonly variable: string
  readonly takes: HubSettingValue
  readonly default: JsonValue
  /** The member of a section of the settings file that means the same. */
  readonly member?: Readonly<{ section: 'logging.database'; name: string }>
  /** True when a change holds at once. Default: from the next start. */
  readonly live?: true
}

/** The values that a setting takes. */
export type HubSettingValue =
  | { readonly type: 'boolean' }
  | { readonly type: 'choice'; readonly words: readonly [string, ...string[]] }
  /** `wanted` says in words what each text of the list is. */
  | { readonly type: 'list'; readonly pattern: RegExp; readonly wanted: string; readonly mostCharacters: number }
  /** A size of at least one byte, also as a text such as `100MB`. */
  | { readonly type: 'bytes' }
