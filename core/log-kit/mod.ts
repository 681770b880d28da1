/**
 * Functions of the hub for plugins that store log records, as `patchbay/log-kit`: what records and numbers mean, and how errors of
 * databases are read. It loads little, so that a thread of a plugin can import it.
 */

export { durationText, parseDuration } from '../domain/duration.ts'
export { callsOf } from '../domain/log/call-count.ts'
export { CALL_OUTCOMES } from '../domain/log/call-outcome.ts'
export { FEW_PROCESSORS } from '../domain/log/few-processors.ts'
export { LOG_FIELDS, SEVERITIES, severityOf } from '../domain/log/log-query.ts'
export { isAdmin } from '../domain/ownership.ts'
export { csvCell } from '../domain/text/csv-cell.ts'
export { visibleText } from '../domain/text/visible-text.ts'
export { parseTime } from '../domain/timestamp.ts'
export { isBusy, isFull, storageCode } from '../store/errors.ts'
export { DURATION_KINDS } from '../telemetry/duration-series.ts'
export { Histogram } from '../telemetry/histogram.ts'
export { type MetricFamily, prometheusText } from '../telemetry/metrics-text.ts'
export { linesOf } from '../telemetry/record-blocks.ts'
