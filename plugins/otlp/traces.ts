import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { AlwaysOnSampler } from '@opentelemetry/sdk-trace'
import { HUB_VERSION, type PluginLogger } from 'patchbay/contract'
import type { CallTrace, CallTracer, FinishedCall, TracedCall } from 'patchbay/features'
import { type Collector, rejectedOf } from './collector.ts'
import { SpanQueue } from './span-queue.ts'

const EXPORT_MS = 10_000
/** Longest wait of the stopping plugin for the last spans, in milliseconds. */
const LAST_MS = 3_000
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/
const SAMPLED = 1

/** Options of traces. */
export interface TraceOptions {
  readonly serviceName: string
  /** Part of the calls that are traced if the caller does not decide, 0 to 1. */
  readonly ratio: number
  readonly log: PluginLogger
}

/** Traces that go to a collector. */
export interface Traces extends CallTracer {
  /** Makes a span of a failed call that was not traced. */
  ended(call: FinishedCall): void
  /** Sends the last spans, within 3 s. Never rejects. */
  stop(): Promise<void>
}

/** Starts tracing. The SDK's own instrumentations and detectors stay off: the latter would send the command line. */
export async function startTraces(collector: Collector, { serviceName, ratio, log }: TraceOptions): Promise<Traces> {
  const queue = new SpanQueue(async spans => {
    const answer = await collector.post(
      'traces',
      JsonTraceSerializer.serializeRequest(spans) ?? new Uint8Array(),
      AbortSignal.timeout(EXPORT_MS),
    )
    if (answer.status !== 200) throw collector.failed(`answered ${answer.status}`)
    return rejectedOf(answer, 'rejectedSpans', spans.length)
  }, log)
  const started = new NodeSDK({
    ...{ instrumentations: [], autoDetectResources: false, metricReaders: [], logRecordProcessors: [] },
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': HUB_VERSION }),
    sampler: new AlwaysOnSampler(),
    spanProcessors: [queue],
  })
  started.start()
  const tracer = trace.getTracer('patchbay', HUB_VERSION)

  const begin = (call: TracedCall): CallTrace | undefined => {
    const parent = parentOf(call.meta)
    if (parent ? (parent.traceFlags & SAMPLED) === 0 : Math.random() >= ratio) return undefined
    const above = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    const server = spanOf(tracer, call, { kind: SpanKind.SERVER }, above)
    const client = spanOf(tracer, call, { kind: SpanKind.CLIENT }, trace.setSpan(above, server))
    for (const span of [server, client]) queue.holds(span, call.userId)
    const { traceId, spanId } = client.spanContext()
    return {
      traceId,
      traceparent: `00-${traceId}-${spanId}-01`,
      end(status) {
        for (const span of [client, server]) {
          if (status !== 'success') fail(span, status)
          span.end()
        }
      },
    }
  }
  return {
    begin,
    ended(call) {
      if (call.outcome !== 'ok' && call.traceId === undefined) addFailed(tracer, queue, call)
    },
    counts: () => queue.counts(),
    async stop() {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, LAST_MS)
      await Promise.race([started.shutdown().catch(() => undefined), late])
      clearTimeout(timer)
      // The SDK registers itself for the process. A plugin that starts again needs the places.
      for (const place of [trace, context, propagation]) place.disable()
    },
  }
}

function fail(span: Span, status: string): void {
  span.setAttribute('error.type', status === 'error' ? 'tool_error' : status)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** The tool's name of a call that reached no server is any text of the caller, and is left out. */
function addFailed(tracer: Tracer, queue: SpanQueue, { at, durationMs, status, userId, ...call }: FinishedCall): void {
  const isSent = call.serverId !== ''
  const startTime = Date.parse(at)
  const attributes: Attributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    ...(isSent ? { 'gen_ai.tool.name': call.tool, 'patchbay.server': call.server } : {}),
    'patchbay.request.id': call.requestId,
  }
  const name = isSent ? `tools/call ${call.tool}` : 'tools/call'
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, startTime, attributes }, ROOT_CONTEXT)
  queue.holds(span, userId)
  fail(span, status)
  span.end(startTime + durationMs)
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
