import type { LogRecord } from './log-records.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    logSink: LogSink
  }
}

/**
 * Receives the records of the hub's log, one batch at a time. "write" resolves with the number of records rejected for good, if
 * any. When it rejects, the same batch is sent again after 1, 5, 25, then every 60 s, each time for 30 s at most.
 */
export type LogSink = {
  /** Records in a batch, 1 to 5,000. Default 500. */
  readonly maxBatch?: number
} & (
  | { readonly takes?: 'records'; write(batch: readonly LogRecord[], signal: AbortSignal): Promise<SinkResult> }
  /** Each record as the JSON text of the log file. */
  | { readonly takes: 'lines'; write(batch: readonly string[], signal: AbortSignal): Promise<SinkResult> }
)

// biome-ignore lint/suspicious/noConfusingVoidType: most sinks have nothing to say
type SinkResult = void | { readonly rejected: number }
