declare module '../contract/points.ts' {
  interface ExtensionPoints {
    callTracer: CallTracer
  }
}

/** A tools/call that is about to be sent to its server. */
export interface TracedCall extends Readonly<Record<'tool' | 'server' | 'group' | 'requestId', string>> {
  /** The caller's id, by which queues have shares. Not part of the trace. */
  readonly userId: string
  /** The caller's `_meta`, whose `traceparent` (W3C Trace Context) says whether the call is traced. */
  readonly meta: unknown
}

/** The trace of one tools/call. `traceparent`: for the `_meta` of the request to the server. */
export interface CallTrace extends Readonly<Record<'traceId' | 'traceparent', string>> {
  /** `status` as in the record of the call: `success`, `error` for an error of the tool, or a code. */
  end(status: string): void
}

/** Spans since the tracer began. */
export type SpanCounts = Readonly<Record<'sent' | 'failed' | 'dropped', number>>

/** Traces the calls of tools. The first contribution is asked, at each call. */
export interface CallTracer {
  /** Undefined for a call that is not traced. */
  begin(call: TracedCall): CallTrace | undefined
  counts(): SpanCounts
}
