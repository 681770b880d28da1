import type { LogLevel, LogRecord } from 'patchbay/contract'

/** Severities of the OpenTelemetry log data model: the first number of each range. */
const SEVERITIES: Readonly<Record<LogLevel, number>> = { ERROR: 17, WARN: 13, INFO: 9, DEBUG: 5, TRACE: 1 }
/** Members that have a field of their own. */
const PLACED: ReadonlySet<string> = new Set(['timestamp', 'level', 'message', 'traceId'])

type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  /** 64-bit integers are texts in the JSON of protobuf. */
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } }
  | { readonly kvlistValue: { readonly values: readonly KeyValue[] } }

/** An attribute in the JSON of OTLP. */
export interface KeyValue {
  readonly key: string
  readonly value: AnyValue
}

/** The JSON text of a record in the form of OTLP 1.x (`logs.proto`, LogRecord). */
export function otlpRecord(record: LogRecord): string {
  const { timestamp, level, message, traceId } = record
  const time = `${Date.parse(timestamp)}000000`
  return JSON.stringify({
    timeUnixNano: time,
    observedTimeUnixNano: time,
    severityNumber: SEVERITIES[level],
    severityText: level,
    body: { stringValue: message },
    attributes: attributes(Object.entries(record).filter(([name]) => !PLACED.has(name))),
    ...(typeof traceId === 'string' && /^[0-9a-f]{32}$/.test(traceId) ? { traceId } : {}),
  })
}

/** Members of an object as attributes; those without a value are left out. */
export function attributes(entries: readonly (readonly [string, unknown])[]): readonly KeyValue[] {
  return entries.flatMap(([key, value]) => {
    const any = anyValue(value)
    return any === undefined ? [] : [{ key, value: any }]
  })
}

function anyValue(value: unknown): AnyValue | undefined {
  switch (typeof value) {
    case 'string':
      return { stringValue: value }
    case 'boolean':
      return { boolValue: value }
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    case 'object':
      if (value === null) return undefined
      if (Array.isArray(value)) return { arrayValue: { values: value.flatMap(each => anyValue(each) ?? []) } }
      return { kvlistValue: { values: attributes(Object.entries(value)) } }
    default:
      return undefined
  }
}
