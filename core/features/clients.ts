import type { JsonObject } from '../contract/json.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    clientConfig: ClientConfig
  }
}

/** A group in a client: its name there (of letters, digits, `-` and `_`), its URL, and a text in place of the key. */
export type EndpointInfo = Readonly<Record<'name' | 'url' | 'key', string>>

/** Writes the configuration by which a client connects to a group; the id is the client's name, such as `cursor`. */
export interface ClientConfig {
  readonly label: string
  /** The client's files; `~` is the home folder. Without `os` the same everywhere. */
  readonly places: readonly { readonly path: string; readonly os?: 'mac' | 'windows' | 'linux' }[]
  readonly format: 'json' | 'toml' | 'yaml' | 'shell'
  readonly note?: string
  /** The file as JSON, to be merged into an existing one, or the text of another format. */
  entry(endpoint: EndpointInfo): JsonObject | string
  /** A link that opens the client and adds the group, without the key. */
  deepLink?(endpoint: EndpointInfo): string
  /** The equivalent command of the client's own program, word by word. */
  command?(endpoint: EndpointInfo): readonly string[]
}
