import type { Attributes, Span, Tracer } from '@opentelemetry/api'
import type { PluginLogger } from '../contract/plugin.ts'
import { type SpanCounts, SpanQueue } from './span-queue.ts'

const EXPORT_MS = 10_000
/** Longest wait of the stopping hub for the last spans, in milliseconds. */
const LAST_MS = 3_000
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/
const SAMPLED = 1

/** Options of traces. */
export interface TraceOptions {
  /** Base URL of OTLP over HTTP, without `/v1/traces`. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly version: string
  /** Part of the calls that are traced if the caller does not decide, 0 to 1. */
  readonly ratio: number
  readonly log: PluginLogger
}

/** A tools/call that is about to be sent. */
export interface TracedCall {
  readonly tool: string
  readonly server: string
  readonly group: string
  readonly requestId: string
  /** The caller, whose share of the queue the spans use; not part of the trace. */
  readonly userId: string
  /** The caller's `_meta`, whose `traceparent` decides whether the call is traced. */
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

/** Creates traces of calls. */
export interface CallTracer {
  /** Undefined for a call that is not traced: by the caller's own flag, else by chance. */
  begin(call: TracedCall): CallTrace | undefined
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
  const queue = new SpanQueue(exporter, log)
  const started = new NodeSDK({
    ...{ instrumentations: [], autoDetectResources: false, metricReaders: [], logRecordProcessors: [] },
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [queue],
  })
  started.start()
  const tracer = api.trace.getTracer('patchbay', version)

  const begin = (call: TracedCall): CallTrace | undefined => {
    const parent = parentOf(call.meta)
    if (parent ? (parent.traceFlags & SAMPLED) === 0 : Math.random() >= ratio) return undefined
    const context = parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, parent) : api.ROOT_CONTEXT
    const server = spanOf(tracer, call, { kind: api.SpanKind.SERVER }, context)
    const client = spanOf(tracer, call, { kind: api.SpanKind.CLIENT }, api.trace.setSpan(context, server))
    for (const span of [server, client]) queue.holds(span, call.userId)
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
    counts: () => queue.counts(),
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

/** The caller's span by W3C Trace Context; undefined if it is missing or invalid. */
function parentOf(meta: unknown) {
  const text = typeof meta === 'object' && meta !== null && 'traceparent' in meta ? meta.traceparent : undefined
  const found = typeof text === 'string' ? TRACEPARENT.exec(text) : null
  if (!found) return undefined
  const [, traceId = '', spanId = '', flags = ''] = found
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
