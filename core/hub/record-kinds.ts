import { CHANNELS } from '../alerts/channels.ts'
import { RULES } from '../alerts/rules.ts'
import { ENDPOINTS } from '../assistant/kind.ts'
import { DASHBOARDS } from '../dashboards/dashboards.ts'
import type { RecordKind } from '../registry/record-kinds.ts'

/** The kinds of owned records of the hub's features, in the order in which an import makes them: rules name channels. */
export const RECORD_KINDS: readonly RecordKind[] = [CHANNELS, RULES, DASHBOARDS, ENDPOINTS]
