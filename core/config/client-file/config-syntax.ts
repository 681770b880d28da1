import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Path } from '../jsonc-edit.ts'

/** A client's file that cannot be read, or in which an entry cannot be set without touching more. */
export class UnreadableConfig extends Error {}

/** One entry of a client's file: in which table, under which name, and what it holds. */
export interface ConfigEntry {
  readonly table: string
  readonly name: string
  readonly value: JsonObject
  /** As it is written where the file is not JSON; empty: it is made of the value. */
  readonly text: string
  /** The table is a list, and the name is a member of the entry. */
  readonly list?: boolean
}

/** Another value at a path; undefined removes what is there. */
export interface ConfigChange {
  readonly path: Path
  readonly value: JsonValue | undefined
}

/** Reads and changes the files of a client. Each changed text is parsed again, to check that only the wanted entry differs. */
export interface ConfigSyntax {
  /** The whole file. Throws UnreadableConfig. */
  value(text: string): JsonObject
  /** The only entry of a text that the hub wrote for a client. Throws UnreadableConfig. */
  only(text: string): ConfigEntry
  /** Returns the value of an entry; undefined when there is none. Throws UnreadableConfig for a text that cannot be parsed. */
  read(text: string, table: string, name: string): JsonValue | undefined
  /** The text with another entry, or without it; everything else stays as it is written. Throws UnreadableConfig. */
  write(text: string, entry: Pick<ConfigEntry, 'table' | 'name'>, value: ConfigEntry | undefined): string
  /** Returns the entry with its own text, as written in the file. */
  entryOf(text: string, table: string, name: string): ConfigEntry | undefined
  /**
   * The text with these changes; everything else stays as it is written. Each path is one of the given text. An object gets one
   * new member at most. The time grows with the text and the number of changes, not with their product. Throws UnreadableConfig.
   */
  change(text: string, changes: readonly ConfigChange[]): string
}
