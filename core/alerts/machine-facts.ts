import type { MetricQuery } from '../domain/alerts/condition.ts'
import type { SystemUsage } from '../telemetry/system-usage.ts'

const DAY_MS = 24 * 60 * 60_000
/** Rules are evaluated every 10 s, and at other times as well. */
const SAMPLE_MS = 9_000

/** Sources of the machine's numbers. */
export interface MachineSource {
  readonly usage: () => SystemUsage
  /** Log records that sinks have lost since the start. */
  readonly droppedRecords: () => number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

interface Sample {
  readonly atMs: number
  readonly cpu: number | undefined
  readonly lagMs: number
  readonly dropped: number
}

const NAMES: Readonly<Record<string, string>> = {
  cpu_usage: 'cpu',
  memory_usage: 'memory',
  disk_usage: 'disk',
  event_loop_lag: '',
  dropped_records: '',
}

/** True for a metric of the machine or the hub, which is the same for all rules. */
export function isMachineMetric(metric: string): boolean {
  return Object.hasOwn(NAMES, metric)
}

/** Numbers of the machine over windows of at most a day. Samples are taken only while a rule needs them. */
export class MachineFacts {
  readonly #source: MachineSource
  #samples: Sample[] = []

  constructor(source: MachineSource) {
    this.#source = source
  }

  unavailable({ metric }: Pick<MetricQuery, 'metric'>): string | undefined {
    const part = NAMES[metric]
    if (!part || part in this.#source.usage()) return undefined
    return `This system does not report what "${metric}" needs`
  }

  /** Takes a sample when it is due; `wanted`: true if any rule needs samples. */
  refresh(wanted: boolean): void {
    if (!wanted) {
      this.#samples = []
      return
    }
    const { now, usage, droppedRecords } = this.#source
    const atMs = now()
    if (atMs - (this.#samples.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < SAMPLE_MS) return
    const { cpu, eventLoopLagMs: lagMs } = usage()
    this.#samples.push({ atMs, cpu, lagMs, dropped: droppedRecords() })
    while ((this.#samples[0]?.atMs ?? atMs) < atMs - DAY_MS) this.#samples.shift()
  }

  /**
   * The mean load, the longest lag, the records lost within the window; memory and disk as they are now. Undefined until
   * the window is full.
   */
  value({ metric, windowMs = 0 }: MetricQuery): number | undefined {
    if (metric === 'memory_usage' || metric === 'disk_usage') {
      const amount = this.#source.usage()[metric === 'memory_usage' ? 'memory' : 'disk']
      return amount && amount.used / amount.total
    }
    if (this.settling(windowMs)) return undefined
    const fromMs = this.#source.now() - windowMs
    const within = this.#samples.filter(({ atMs }) => atMs > fromMs)
    if (metric === 'event_loop_lag')
      return within.length === 0 ? undefined : Math.max(...within.map(({ lagMs }) => lagMs))
    if (metric === 'dropped_records') {
      const before = this.#samples.findLast(({ atMs }) => atMs <= fromMs) ?? within[0]
      return before && this.#source.droppedRecords() - before.dropped
    }
    const loads = within.flatMap(({ cpu }) => cpu ?? [])
    return loads.length === 0 ? undefined : loads.reduce((sum, load) => sum + load, 0) / loads.length
  }

  /** True until there are samples from before the window. */
  settling(windowMs: number | undefined): boolean {
    const first = this.#samples[0]
    return windowMs !== undefined && (first === undefined || this.#source.now() - first.atMs < windowMs)
  }
}
