import type { FileSection } from '../config/shape/sections.ts'
import { PLUGIN_SECTIONS } from './bundled.ts'
import { RECORD_SECTIONS } from './record-kinds.ts'

/** All sections of the settings file beside those of the hub itself. */
export const FILE_SECTIONS: readonly FileSection[] = [...RECORD_SECTIONS, ...PLUGIN_SECTIONS]
