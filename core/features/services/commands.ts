import type { JsonObject, JsonValue } from '../../contract/json.ts'

declare module '../../contract/plugin.ts' {
  interface PluginDefinition<Config> {
    /**
     * Commands of `patchbay`, by name, whether the plugin runs or not: they talk to a hub by its routes. Of bundled plugins alone, each
     * of which is listed in `core/hub/bundled-commands.ts` too, so that a command loads no other plugin.
     */
    readonly commands?: Readonly<Record<string, CommandKind>>
  }
}

/** A command, whose module is loaded when it runs. */
export interface CommandKind {
  /** One line of `patchbay --help`. */
  readonly summary: string
  load(): Promise<{ readonly default: Command }>
}

/** The default export of a command's module. */
export interface Command {
  /** Printed for `--help`, with a line feed at its end. */
  readonly help: string
  /** By name without dashes. `json` is there for all. */
  readonly options: Readonly<Record<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean }>>
  /** Names of the arguments, in order: `name` is required, `[name]` optional, `name...` takes all that follow. */
  readonly positionals: readonly string[]
  /** Resolves with the exit code: 0, or 1 when the command failed. */
  run(line: CommandLine, terminal: Terminal): Promise<number>
}

/** A command line that fits the options. */
export interface CommandLine {
  readonly values: Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>
  readonly positionals: readonly string[]
}

/** The surroundings of a command. */
export interface Terminal {
  /** Absolute. */
  readonly cwd: string
  /** Hidden characters are shown; line feeds and tabs stay. */
  print(text: string): void
  printJson(value: unknown): void
  /** Words as for a shell, for people to read. */
  quoted(words: readonly string[]): string
  /** Finds the running hub by the environment and the data folder. */
  connect(): Promise<HubCaller>
  /** An error that ends the command: with 2 for a wrong command line, with 1 for anything else. */
  misuse(message: string): Error
  failure(message: string, options?: ErrorOptions): Error
}

/** A running hub's REST API. An error response rejects with the hub's text, which the caller prints. */
export interface HubCaller {
  /** The response's JSON; an empty object for a response without a body. Bytes go as they are. */
  send(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: JsonValue | Uint8Array,
  ): Promise<JsonObject>
}
