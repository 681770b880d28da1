import type { PluginLogger } from '../contract/plugin.ts'
import type { CallTrace, CallTracer, SpanCounts, TracedCall } from '../features/tracing.ts'

/** Time between two warnings, in milliseconds. */
const WARN_MS = 60_000
const NONE: SpanCounts = { sent: 0, failed: 0, dropped: 0 }

/**
 * The tracer of the plugin that has one now. One that throws costs the call its trace and nothing else; it is warned of at most
 * once a minute.
 */
export class PluginTracer implements CallTracer {
  readonly #current: () => CallTracer | undefined
  readonly #log: PluginLogger
  #quietUntilMs = 0
  #failures = 0

  constructor(current: () => CallTracer | undefined, log: PluginLogger) {
    this.#current = current
    this.#log = log
  }

  begin(call: TracedCall): CallTrace | undefined {
    const trace = this.#guarded(() => this.#current()?.begin(call))
    if (!trace) return undefined
    const { traceId, traceparent } = trace
    return { traceId, traceparent, end: status => this.#guarded(() => trace.end(status)) }
  }

  counts(): SpanCounts {
    return this.#guarded(() => this.#current()?.counts()) ?? NONE
  }

  #guarded<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#failures += 1
      const nowMs = performance.now()
      if (nowMs < this.#quietUntilMs) return undefined
      this.#quietUntilMs = nowMs + WARN_MS
      this.#log.warn('A plugin that traces calls failed', { error: String(error), failures: this.#failures })
      return undefined
    }
  }
}
