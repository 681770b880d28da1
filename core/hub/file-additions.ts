import type { FileAdditions } from '../config/shape/additions.ts'
import { bundledPlugins, PLUGIN_SECTIONS } from './bundled.ts'
import { ENTRY_FIELDS } from './bundled-fields.ts'
import { HUB_SETTINGS } from './bundled-settings.ts'
import { RECORD_SECTIONS } from './record-kinds.ts'

/** Additions of features and bundled plugins to the settings file. */
export const FILE_ADDITIONS: FileAdditions = {
  sections: [...RECORD_SECTIONS, ...PLUGIN_SECTIONS],
  settings: HUB_SETTINGS,
  fields: ENTRY_FIELDS,
  attached: bundledPlugins.flatMap(({ attachedSettings = {} }) => Object.keys(attachedSettings)),
}
