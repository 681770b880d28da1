import type { FieldError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    serverFields: ServerFieldsInUse
  }
}

declare module '../contract/plugin.ts' {
  interface PluginDefinition<Config> {
    /**
     * Fields of servers besides those of their transports, by an id; a contribution `serverFields` of that id opens them. While
     * the plugin does not run, servers keep what they have, and no other value is taken. Of bundled plugins alone.
     */
    readonly serverFields?: Readonly<Record<string, ServerFields>>
  }
}

/** Fields of the servers of some transports. The hub checks, seals, masks, documents and moves them as those of a transport. */
export interface ServerFields {
  /** Names of the transports. */
  readonly transports: readonly string[]
  /** JSON Schema of each field, as in the `configSchema` of a transport. */
  readonly fields: Readonly<Record<string, JsonObject>>
  /**
   * Their form in settings files and in entries of other programs. Default: as in the API. Files are read before plugins are
   * loaded, so `core/hub/bundled-fields.ts` repeats each declaration as plain data.
   */
  readonly entries?: EntryReading
}

/** The way in which entries of files are read. */
export interface EntryReading {
  /** Fields that are objects, and that other programs write in forms of their own; members that the schema does not name are dropped. */
  readonly forms?: Readonly<Record<string, FieldForms>>
  /**
   * Members of other programs' entries that stay behind, by their letters in lower case (`clientid` for `client_id`): why, and what to
   * write instead.
   */
  readonly left?: Readonly<Record<string, string>>
  /** A sign-in in the member `auth` of such an entry: words in its `type` that mean no token, and why it stays behind. */
  readonly auth?: Readonly<{ kinds: readonly string[]; left: string }>
}

/** Forms of one field in entries of other programs. */
export interface FieldForms {
  /** True when others write it as a switch, which says nothing here. */
  readonly isSwitch?: true
  /** Other names of its members, each with the member's own. */
  readonly names?: Readonly<Record<string, string>>
  /** Members with a list, which others write as one text of words. */
  readonly words?: readonly string[]
}

/** Fields that are open while the plugin runs. */
export interface ServerFieldsInUse {
  /** Returns faults beyond the schemas; `config`: all fields of the server but the common ones, with variables filled in. */
  check?(config: JsonObject): readonly FieldError[]
}
