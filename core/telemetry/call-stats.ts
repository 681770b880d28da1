import * as hdr from 'hdr-histogram-js'
import type { ToolCallRecord } from '../contract/records.ts'

/** One hour in microseconds: the longest call that is told apart. */
const LONGEST_US = 3_600_000_000

interface ServerStats {
  total: number
  errors: number
  readonly durations: hdr.Histogram
}

/** Counts and durations of tools/calls per server since the start. A record costs well under a microsecond. */
export class CallStats {
  readonly #servers = new Map<string, ServerStats>()

  record(call: ToolCallRecord): void {
    let stats = this.#servers.get(call.serverId)
    if (!stats) {
      stats = {
        total: 0,
        errors: 0,
        durations: hdr.build({
          lowestDiscernibleValue: 1,
          highestTrackableValue: LONGEST_US,
          numberOfSignificantValueDigits: 2,
          bitBucketSize: 32,
        }),
      }
      this.#servers.set(call.serverId, stats)
    }
    stats.total += 1
    if (call.status !== 'success') stats.errors += 1
    stats.durations.recordValue(Math.min(LONGEST_US, Math.max(1, Math.round(call.durationMs * 1000))))
  }

  /** Percentiles in milliseconds; undefined before the first call. */
  latencyMs(serverId: string): { readonly p50: number; readonly p95: number } | undefined {
    const stats = this.#servers.get(serverId)
    if (!stats) return undefined
    return {
      p50: stats.durations.getValueAtPercentile(50) / 1000,
      p95: stats.durations.getValueAtPercentile(95) / 1000,
    }
  }

  forget(serverId: string): void {
    this.#servers.delete(serverId)
  }
}
