import type { JsonValue } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import type { PluginTables } from '../contract/tables.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    attachedSettings: AttachedSettings
  }
}

declare module '../contract/plugin.ts' {
  interface PluginDefinition<Config> {
    /**
     * Settings that the plugin keeps beside things of the hub, with the kinds of those things, by the name that they have in
     * entries of the settings file and in exports; a contribution `attachedSettings` of that name reads and writes them. Of bundled
     * plugins alone.
     */
    readonly attachedSettings?: Readonly<Record<string, readonly AttachedKind[]>>
  }
}

/** The kinds of things that can have settings of plugins beside them. */
export type AttachedKind = 'server' | 'group' | 'user' | 'key'

/** One such thing. */
export interface AttachedThing {
  readonly kind: AttachedKind
  readonly id: string
  /** For a user, its own id. */
  readonly ownerId: string
}

/**
 * Settings of a plugin beside servers, groups, users and keys, such as rules. The hub exports and imports them with these things, and
 * takes them from entries of the settings file. It has checked the rights on the thing before it calls.
 */
export interface AttachedSettings {
  /** Gets what the plugin needs of the hub, before anything else is called. */
  opened?(hub: AttachedHub): void
  /**
   * The settings of a thing, in the form that `check` takes. `keep` gets each secret with its JSON Pointer into the value, and
   * returns the text that replaces it in the result. Undefined: the thing has no such settings.
   */
  open(thing: AttachedThing, keep: (secret: string, pointer: string) => string): JsonValue | undefined
  /** The value as `open` would return it once it is saved. Throws `validation_failed`, with pointers from `#` into the value. */
  check(value: JsonValue, kind: AttachedKind): JsonValue
  /** A checked value with each secret replaced by what `mask` returns. Absent: it holds none. */
  masked?(value: JsonValue, mask: (secret: string) => string): JsonValue
  /** A checked value with the name of each team in it replaced by what `nameOf` returns. Absent: it names none. */
  renamed?(value: JsonValue, nameOf: (team: string) => string): JsonValue
  /** Throws for an actor who may not set them although the thing is its own. */
  permit?(actor: UserActor, thing: Pick<AttachedThing, 'kind'>): void
  /**
   * Replaces the present value with a checked one; null removes it. All writes go through `tables`, the plugin's own tables
   * within the present transaction, and the effect in memory through `after` of its `write`.
   */
  save(tables: <Schema>() => PluginTables<Schema>, thing: AttachedThing, value: JsonValue | null): Promise<void>
}

/** The part of the hub that such a plugin uses. */
export interface AttachedHub {
  /** Throws `settings_read_only` for settings that an entry of the settings file states: they are changed there. */
  refuseStated(thing: Pick<AttachedThing, 'kind' | 'id'>): void
  /** True for the settings that `refuseStated` refuses. */
  isStated(thing: Pick<AttachedThing, 'kind' | 'id'>): boolean
}
