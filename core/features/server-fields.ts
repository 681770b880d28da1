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
}

/** Fields that are open while the plugin runs. */
export interface ServerFieldsInUse {
  /** Returns faults beyond the schemas; `config`: all fields of the server but the common ones, with variables filled in. */
  check?(config: JsonObject): readonly FieldError[]
}
