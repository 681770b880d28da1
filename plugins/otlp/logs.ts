import { JsonLogsSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { LogRecord, LogSink } from 'patchbay/features'
import { type Collector, rejectedOf } from './collector.ts'
import { type OtlpRecord, otlpRecord } from './log-record.ts'

/** Bytes of one request; collectors accept 20 MiB by default, proxies before them often 10. */
const MOST_BYTES = 5_000_000
/**
 * Answers after which a batch is sent again: those that OTLP over HTTP names, and those of a wrong address or key, which an
 * administrator puts right.
 */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504, 401, 403, 404])

/** The present batch: its key, the records not sent yet, and the number of permanently rejected ones. */
interface Batch {
  readonly key: string
  left: readonly OtlpRecord[]
  rejected: number
}

/** Sends records to a collector. Accepted records of a batch are not sent again when the batch is repeated. */
export function createLogSink(collector: Collector, serviceName: string): LogSink {
  const resource = resourceFromAttributes({ 'service.name': serviceName })
  let batch: Batch | undefined

  /** The number of the first records that fit into a request, at least one, and their text. */
  function fitting(
    records: readonly OtlpRecord[],
    most: number,
  ): { readonly count: number; readonly text: Uint8Array } {
    let count = Math.min(records.length, most)
    for (;;) {
      const text = JsonLogsSerializer.serializeRequest(records.slice(0, count)) ?? new Uint8Array()
      if (text.byteLength <= MOST_BYTES || count === 1) return { count, text }
      count = Math.ceil(count / 2)
    }
  }

  async function write(lines: readonly string[], signal: AbortSignal): Promise<{ readonly rejected: number }> {
    const key = lines.join('\n')
    if (batch?.key !== key) {
      const left = lines.map(line => otlpRecord(JSON.parse(line) as LogRecord, resource))
      batch = { key, left, rejected: 0 }
    }
    const present = batch
    let most = present.left.length
    while (present.left.length > 0) {
      const { count, text } = fitting(present.left, most)
      const answer = await collector.post('logs', text, signal)
      if (AGAIN.has(answer.status)) throw collector.failed(`answered ${answer.status}`)
      if (answer.status === 413 && count > 1) {
        most = Math.ceil(count / 2)
        continue
      }
      present.rejected += answer.status === 200 ? rejectedOf(answer, 'rejectedLogRecords', count) : count
      present.left = present.left.slice(count)
    }
    batch = undefined
    return { rejected: present.rejected }
  }
  return { takes: 'lines', write }
}
