/** The levels of MCP (RFC 5424), least severe first. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** The rank of a level; an unknown level counts as the most severe, so that its message is not lost. */
export function logLevelOf(name: unknown): number {
  const rank = LOG_LEVELS.indexOf(name as (typeof LOG_LEVELS)[number])
  return rank < 0 ? LOG_LEVELS.length : rank
}
