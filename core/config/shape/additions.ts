import { type KnownSettings, OWN_SETTINGS } from '../known-settings.ts'
import { type EntryFields, NO_ENTRY_FIELDS } from './entry-fields.ts'
import type { FileSection } from './sections.ts'

/** Additions of features and plugins to the settings file, known before plugins run. */
export interface FileAdditions {
  /** Sections that hold records of features. */
  readonly sections: readonly FileSection[]
  readonly settings: KnownSettings
  /** Fields of servers. */
  readonly fields: EntryFields
  /** Names of the settings of plugins for servers, groups and users. */
  readonly attached: readonly string[]
}

/** A file of the hub alone: other sections are named as unknown. */
export const NO_ADDITIONS: FileAdditions = {
  sections: [],
  settings: OWN_SETTINGS,
  fields: NO_ENTRY_FIELDS,
  attached: [],
}
