import type { Attributes, Span, Tracer } from '@opentelemetry/api'
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'
import type { PluginLogger } from '../contract/plugin.ts'

/** Spans that wait to be sent; with more of them the newest are lost, and counted. */
const MOST_WAITING = 2_048
const BATCH = { maxQueueSize: MOST_WAITING, maxExportBatchSize: 512, scheduledDelayMillis: 2_000 }
const EXPORT_MS = 10_000
/** How long the stopping hub waits for the last spans, in milliseconds. */
const LAST_MS = 3_000
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/
const SAMPLED = 1

/** Where traces go. */
export interface TraceOptions {
  /** Of OTLP over HTTP, without `/v1/traces`. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly version: string
  /** Part of the calls that are traced where the caller does not say, 0 to 1. */
  readonly ratio: number
  readonly log: PluginLogger
}

/** A tools/call that is about to be sent. */
export interface TracedCall {
  readonly tool: string
  readonly server: string
  readonly group: string
  readonly requestId: string
  /** The caller's `_meta`, whose `traceparent` decides. */
  readonly meta: unknown
}

/** The trace of one tools/call. */
export interface CallTrace {
  readonly traceId: string
  /** For the `_meta` of the request to the server. */
  readonly traceparent: string
  /** `status` as in the record of the call. */
  end(status: string): void
}

/** What makes traces. */
export interface CallTracer {
  /** Undefined for a call that is not traced: by the caller's own flag, else by chance. */
  begin(call: TracedCall): CallTrace | undefined
}

/** Spans since the start. */
export interface SpanCounts {
  readonly sent: number
  readonly failed: number
  readonly dropped: number
}

/** Traces that go to a collector. */
export interface Traces extends CallTracer {
  counts(): SpanCounts
  /** Sends the last spans, within 3 s. Never rejects. */
  stop(): Promise<void>
}

/**
 * Starts tracing. The SDK is loaded here alone: without a collector it would cost a hub its start and 37 MB. Its own
 * instrumentations and detectors stay off; the latter would send the command line.
 */
export async function startTraces(options: TraceOptions): Promise<Traces> {
  const [{ NodeSDK }, sdk, { resourceFromAttributes }, { OTLPTraceExporter }, api] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/api'),
  ])
  const { endpoint, headers, serviceName, version, ratio, log } = options
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers, timeoutMillis: EXPORT_MS })
  const counted = new CountedSpans(exporter, log)
  const processor = new sdk.BatchSpanProcessor({ ...BATCH, exporter: counted, exportTimeoutMillis: EXPORT_MS })
  const started = new NodeSDK({
    ...{ instrumentations: [], autoDetectResources: false, metricReaders: [], logRecordProcessors: [] },
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [counted.bounded(processor)],
  })
  started.start()
  const tracer = api.trace.getTracer('patchbay', version)

  const begin = (call: TracedCall): CallTrace | undefined => {
    const parent = parentOf(call.meta)
    if (parent ? (parent.traceFlags & SAMPLED) === 0 : Math.random() >= ratio) return undefined
    const context = parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, parent) : api.ROOT_CONTEXT
    const server = spanOf(tracer, call, { kind: api.SpanKind.SERVER }, context)
    const client = spanOf(tracer, call, { kind: api.SpanKind.CLIENT }, api.trace.setSpan(context, server))
    const { traceId, spanId } = client.spanContext()
    return {
      traceId,
      traceparent: `00-${traceId}-${spanId}-01`,
      end(status) {
        for (const span of [client, server]) {
          if (status !== 'success') {
            span.setAttribute('error.type', status === 'error' ? 'tool_error' : status)
            span.setStatus({ code: api.SpanStatusCode.ERROR })
          }
          span.end()
        }
      },
    }
  }
  return {
    begin,
    counts: () => counted.counts(),
    async stop() {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, LAST_MS)
      await Promise.race([started.shutdown().catch(() => undefined), late])
      clearTimeout(timer)
    },
  }
}

function spanOf(
  tracer: Tracer,
  { tool, server, group, requestId }: TracedCall,
  { kind }: { readonly kind: number },
  context: Parameters<Tracer['startSpan']>[2],
): Span {
  const attributes: Attributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'patchbay.server': server,
    'patchbay.group': group,
    'patchbay.request.id': requestId,
  }
  return tracer.startSpan(`tools/call ${tool}`, { kind, attributes }, context)
}

/** The caller's span by W3C Trace Context; undefined where there is none, or none that can be read. */
function parentOf(meta: unknown) {
  const text = typeof meta === 'object' && meta !== null && 'traceparent' in meta ? meta.traceparent : undefined
  const found = typeof text === 'string' ? TRACEPARENT.exec(text) : null
  if (!found) return undefined
  const [, traceId = '', spanId = '', flags = ''] = found
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}

/** Counts what becomes of spans: the SDK's own processor drops in silence. */
class CountedSpans implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: PluginLogger
  #waiting = 0
  #sent = 0
  #failed = 0
  #dropped = 0
  #isFailing = false

  constructor(exporter: SpanExporter, log: PluginLogger) {
    this.#exporter = exporter
    this.#log = log
  }

  counts(): SpanCounts {
    return { sent: this.#sent, failed: this.#failed, dropped: this.#dropped }
  }

  export(...[spans, done]: Parameters<SpanExporter['export']>): void {
    this.#exporter.export(spans, result => {
      this.#waiting -= spans.length
      // 0: success.
      if (result.code === 0) this.#sent += spans.length
      else this.#failed += spans.length
      this.#report(result.code !== 0, result.error)
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  /** The processor, given no more than it can hold. */
  bounded(processor: SpanProcessor): SpanProcessor {
    return {
      onStart: (span, context) => processor.onStart(span, context),
      onEnd: span => {
        if (this.#waiting >= MOST_WAITING) {
          this.#dropped += 1
          return
        }
        this.#waiting += 1
        processor.onEnd(span)
      },
      forceFlush: () => processor.forceFlush(),
      shutdown: () => processor.shutdown(),
    }
  }

  #report(isFailing: boolean, error: Error | undefined): void {
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    if (isFailing) this.#log.warn('Traces cannot be sent', { error: String(error) })
    else this.#log.info('Traces are sent again')
  }
}
