import { type ErrorCode, hubErrorKind } from '../../contract/codes.ts'
import type { CallOutcome } from '../../features/call-records.ts'
import type { LogLevel } from '../../features/log-records.ts'

/** All outcomes of a tools/call. Their places are stored, so that new ones are added at the end. */
export const CALL_OUTCOMES = [
  ...(['ok', 'tool_error', 'upstream_error', 'refused', 'blocked', 'cancelled', 'timeout'] as const),
] satisfies readonly CallOutcome[]

const TIMEOUTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['upstream_timeout', 'upstream_init_timeout'])
/** Codes of a 502, 503 or 504 that are about the hub itself. */
const OF_THE_HUB: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(['starting', 'draining', 'overloaded', 'storage_busy', 'storage_unavailable', 'log_search_unavailable'] as const),
  ...(['delivery_failed'] as const),
])
const UPSTREAM_STATUS: ReadonlySet<number> = new Set([502, 503, 504])

/** The outcome of a call that failed with a code of the hub. */
export function outcomeOfCode(code: ErrorCode): 'timeout' | 'upstream_error' | 'refused' {
  if (TIMEOUTS.has(code)) return 'timeout'
  return UPSTREAM_STATUS.has(hubErrorKind(code)?.status ?? 0) && !OF_THE_HUB.has(code) ? 'upstream_error' : 'refused'
}

/**
 * Returns the level of a call's record: ERROR if the hub or the server failed the call, WARN if the tool failed or the caller
 * cancelled.
 */
export function levelOfOutcome(outcome: CallOutcome): LogLevel {
  if (outcome === 'ok') return 'INFO'
  return outcome === 'tool_error' || outcome === 'cancelled' ? 'WARN' : 'ERROR'
}
