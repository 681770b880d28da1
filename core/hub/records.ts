import type { HubConfig } from '../config/schema.ts'
import type { ToolCallRecord } from '../features/call-records.ts'

/** The part of the configuration about writing records. */
export function logOptions(config: HubConfig) {
  const { logLevel: level, logFormat: format, logFile: file } = config
  const { logRotation: interval = 'daily', logMaxSizeBytes: maxBytes, logMaxFiles: maxFiles } = config
  const isEndless = maxBytes === undefined || maxFiles === undefined
  const rotation = isEndless ? {} : { rotation: { interval, maxBytes, maxFiles, compress: config.logCompress ?? true } }
  return { level, format, ...(file ? { file } : {}), ...rotation }
}

/** A call as the owner of its server may see it: data about the caller's location is left out. */
export function forOwner(record: ToolCallRecord): ToolCallRecord {
  if (record.userId === record.ownerId) return record
  const { client: _, keyId: __, keyLabel: ___, clientName: ____, clientVersion: _____, ...rest } = record
  return rest
}
