import type { JsonValue } from 'patchbay/contract'
import type { HistoryOptions } from './protocol.ts'

/** Keys of the hub's own settings that are about stored records. */
export const SETTINGS = ['logDatabase', 'logRetentionMs', 'logTable', 'logIndexes', 'databaseUrl'] as const

/** The options in the settings of the hub; undefined when records are not to be stored. */
export function historyOptions(
  values: Readonly<Record<string, JsonValue>>,
  folder: string,
): HistoryOptions | undefined {
  const { logDatabase, logRetentionMs: retentionMs, historyMaxBytes: maxBytes, databaseUrl } = values
  const { logTable: table = 'log_record', logIndexes: indexes = [] } = values
  if (logDatabase !== true || typeof retentionMs !== 'number' || typeof maxBytes !== 'number') return undefined
  return {
    ...{ folder, retentionMs, maxBytes, table: String(table), indexes: indexes as readonly string[] },
    ...(typeof databaseUrl === 'string' ? { databaseUrl } : {}),
  }
}
