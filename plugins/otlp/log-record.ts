import type { AnyValue, Attributes } from '@opentelemetry/api'
import type { JsonLogsSerializer } from '@opentelemetry/otlp-transformer'
import type { LogLevel, LogRecord } from 'patchbay/features'

/** A log record in the form of the OpenTelemetry SDK. */
export type OtlpRecord = Parameters<typeof JsonLogsSerializer.serializeRequest>[0][number]

/** Severities of the OpenTelemetry log data model: the first number of each range. */
const SEVERITIES: Readonly<Record<LogLevel, number>> = { ERROR: 17, WARN: 13, INFO: 9, DEBUG: 5, TRACE: 1 }
/** Members that have a field of their own. */
const PLACED: ReadonlySet<string> = new Set(['timestamp', 'level', 'message', 'traceId'])
const SCOPE = { name: 'patchbay' }

/** The record with its level as severity, its message as body, and all other members that have a value as attributes. */
export function otlpRecord(record: LogRecord, resource: OtlpRecord['resource']): OtlpRecord {
  const { timestamp, level, message, traceId } = record
  const ms = Date.parse(timestamp)
  const time: [number, number] = [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000]
  const others = Object.entries(record).filter(([name, value]) => !PLACED.has(name) && value !== null)
  return {
    hrTime: time,
    hrTimeObserved: time,
    severityNumber: SEVERITIES[level],
    severityText: level,
    body: message,
    attributes: Object.fromEntries(others as [string, AnyValue][]) as Attributes,
    droppedAttributesCount: 0,
    resource,
    instrumentationScope: SCOPE,
    ...(typeof traceId === 'string' && /^[0-9a-f]{32}$/.test(traceId)
      ? { spanContext: { traceId, spanId: '', traceFlags: 1 } }
      : {}),
  }
}
