import type { HealthCheckKind, HealthState, MetricKind, MetricNumber } from 'patchbay/features'
import type { HistoryFault } from './fault.ts'

/**
 * The member `history` of `/health`: `paused` while log records cannot be stored; they wait, and the oldest are lost when too many
 * do. `none`: not kept.
 */
export const HEALTH_CHECKS = {
  history: { states: ['ok', 'paused', 'none'], degraded: ['paused'], absent: 'none' },
} as const satisfies Readonly<Record<string, HealthCheckKind>>

/** The metrics of the stored records. */
export const METRICS = {
  history_bytes: {
    type: 'gauge',
    help: 'Size of the history files in bytes',
    absent: byKind({ records: 0, counts: 0, durations: 0 }),
  },
  history_behind_records: {
    type: 'gauge',
    help: 'Log records that are not stored in the history yet',
    absent: [{ value: 0 }],
  },
} as const satisfies Readonly<Record<string, MetricKind>>

/** The state of the check. */
export function stateOf(fault: HistoryFault | undefined): HealthState {
  return fault ? { state: 'paused', fault } : { state: 'ok' }
}

/** Bytes by kind of content. */
export function byKind(bytes: Readonly<Record<'records' | 'counts' | 'durations', number>>): readonly MetricNumber[] {
  return Object.entries(bytes).map(([kind, value]) => ({ labels: { kind }, value }))
}
