import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { ClientConfig } from './clients.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    importSource: ImportSource
  }
}

declare module '../contract/plugin.ts' {
  interface PluginDefinition<Config> {
    /** Sections of other hubs' settings files that an import leaves behind, by name, whether the plugin runs or not. Of bundled plugins alone. */
    readonly leftBehind?: Readonly<Record<string, LeftBehind>>
  }
}

/** A thing that is left behind, as a noun, and a sentence that says what to do instead. */
export type LeftBehind = Readonly<Record<'what' | 'instead', string>>

/** Reads files of another program; the id is its name. Pure: it returns only data, which core checks. */
export interface ImportSource {
  readonly label: string
  readonly places: ClientConfig['places']
  /**
   * Format of its files, if not JSON. The hub then parses a text for which `reads` is true, in a thread, with limits, and passes
   * the value to `read`: times, `inf`, `nan` and integers that a double cannot hold are texts. Default: `read` gets the text.
   */
  readonly format?: 'toml' | 'yaml'
  /** The member of an entry that switches its server off in the program. Default: the program has none. */
  readonly off?: { readonly field: string; readonly value: boolean }
  /**
   * True when a document is one of its files: a text of at most 256 KiB, or the value of a JSON text. It runs in the main
   * thread for every document, so a regular expression must not scan the same blanks again and again.
   */
  reads(document: JsonValue): boolean
  /** Throws an Error whose message says what is wrong with the document. */
  read(document: JsonValue): ImportedFile | Promise<ImportedFile>
}

/** The content of a file. */
export interface ImportedFile {
  readonly servers: readonly ImportedServer[]
  readonly notCarried: readonly NotCarried[]
}

/** A server in another program's file. `pointer`: its place, from `#` on; `body`: as for `POST /api/servers`. */
export interface ImportedServer extends Readonly<Record<'name' | 'pointer', string>> {
  readonly body: JsonObject
  readonly problem?: string
}

/** A part of a file that is left behind. */
export type NotCarried = Readonly<Record<'pointer' | 'what' | 'instead', string>>
