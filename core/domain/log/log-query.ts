import type { LogLevel } from '../../features/log-records.ts'
import { wordIn } from '../spelling/words.ts'

/** Fields of a record that can be searched; `server` and `user` are names, and are replaced by ids before a search. */
export const LOG_FIELDS = [
  ...['timestamp', 'level', 'message', 'server', 'tool', 'status', 'userId', 'requestId', 'duration'],
  ...['component', 'group', 'code', 'traceId', 'keyId', 'user', 'serverId', 'outcome', 'error', 'keyLabel'],
  ...['clientName', 'clientVersion', 'groupId', 'tag'],
] as const

/** Severity by level name. */
export const SEVERITIES: Readonly<Record<LogLevel, number>> = { ERROR: 50, WARN: 40, INFO: 30, DEBUG: 20, TRACE: 10 }
const LEVELS = Object.keys(SEVERITIES) as LogLevel[]

/** The severity of a level in any letter case, WARNING as WARN; undefined for other words. */
export function severityOf(word: string): number | undefined {
  // Fast path: records hold levels in this spelling.
  const exact = SEVERITIES[word as LogLevel]
  if (exact !== undefined) return exact
  const level = wordIn(LEVELS, word)
  return level && SEVERITIES[level]
}
