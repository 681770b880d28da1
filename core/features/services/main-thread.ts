import type { ErrorCode } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'

declare module '../../contract/plugin.ts' {
  interface PluginContext<Config> {
    /** The values of the definition's `systemSettings` and `hubSettings` that hold at this moment. */
    systemSettings(): Promise<Readonly<Record<string, JsonValue>>>
    /** The address of the hub for links in messages: `PUBLIC_URL`, otherwise where it listens. Without a slash at its end. */
    address(): string
    /** True when the hub listens on loopback addresses alone. */
    isLocal(): boolean
    /** Opens a thread, 4 at most. `module`: absolute path or file: URL. */
    thread<Message = unknown, Answer = unknown>(module: string): PluginThread<Message, Answer>
  }

  /** Members of bundled plugins alone. */
  interface PluginDefinition<Config> {
    /** Whole paths that its routes may have; `/name/*` is all below `/name`. */
    readonly claims?: readonly string[]
    /** The answer at its claims while it does not run. Default: `route_not_found`. */
    readonly unavailable?: Readonly<{ code: ErrorCode; message: string }>
    /** Keys of the hub's own settings (`PATCH /api/admin/settings`) that the plugin reads too, when it starts. */
    readonly systemSettings?: readonly string[]
    /** A top-level section of the settings file, and those of its members that stand for the block's. */
    readonly section?: Readonly<{ name: string; members: readonly string[] }>
    /**
     * Members of configurations of processes that name programs which it stores; a contribution `programSource` of that id has the
     * files. Such servers run inside the sandbox alone.
     */
    readonly programs?: Readonly<Record<string, ProgramKind>>
  }
}

/** Programs of one kind. */
export interface ProgramKind {
  /** JSON Schema of the member that names one. */
  readonly schema: JsonObject
  /**
   * A folder in the data folder, for this kind alone, where the hub unpacks them for the sandbox: lower-case letters, digits and
   * dashes.
   */
  readonly folder: string
}

/** A thread for long work, of a module whose default export answers: `export default (message) => answer`. What crosses is cloned. */
export interface PluginThread<Message = unknown, Answer = unknown> {
  /** Rejects with what the module throws; `connection_lost` after `timeoutMs` (30,000), which ends the thread until the next request. `moved`: buffers of the message that are not cloned. */
  request(message: Message, timeoutMs?: number, moved?: readonly ArrayBuffer[]): Promise<Answer>
  end(): void
}
