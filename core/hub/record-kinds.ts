import { CHANNELS } from '../alerts/channels.ts'
import { RULES } from '../alerts/rules.ts'
import { ENDPOINTS } from '../assistant/kind.ts'
import type { FileSection } from '../config/shape/sections.ts'
import { DASHBOARDS } from '../dashboards/dashboards.ts'
import { type RecordKind, sectionsOf } from '../registry/record-kinds.ts'

/** The kinds of owned records of the hub's features, in the order in which an import makes them: rules name channels. */
export const RECORD_KINDS: readonly RecordKind[] = [CHANNELS, RULES, DASHBOARDS, ENDPOINTS]

/** Sections of the settings file that hold records of these kinds. */
export const RECORD_SECTIONS: readonly FileSection[] = sectionsOf(RECORD_KINDS)
