import type { PluginEvents } from '../contract/events.ts'
import type { ToolCallRecord } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'

const TICK_MS = 10_000

interface Sums {
  calls: number
  errors: number
  totalMs: number
  maxMs: number
}

/**
 * Emits `metrics.tick` each 10 s while somebody listens: for each owner whose servers were called, once more with zeros when
 * they are not called any more, and for all together.
 */
export class MetricsTicks {
  readonly #bus: Pick<EventBus, 'wants' | 'emit'>
  readonly #timer: ReturnType<typeof setInterval>
  #owners = new Map<string, Sums>()
  #before: readonly string[] = []

  /** `tickMs`: 10,000 by default. */
  constructor(bus: Pick<EventBus, 'wants' | 'emit'>, tickMs = TICK_MS) {
    this.#bus = bus
    this.#timer = setInterval(() => this.#tick(tickMs / 1_000), tickMs)
    this.#timer.unref()
  }

  /** A finished call. */
  call({ ownerId, durationMs, status }: Pick<ToolCallRecord, 'ownerId' | 'durationMs' | 'status'>): void {
    const sums = this.#owners.get(ownerId) ?? none()
    // Where it stands already this changes nothing.
    this.#owners.set(ownerId, sums)
    sums.calls += 1
    if (status !== 'success') sums.errors += 1
    sums.totalMs += durationMs
    if (durationMs > sums.maxMs) sums.maxMs = durationMs
  }

  dispose(): void {
    clearInterval(this.#timer)
  }

  #tick(seconds: number): void {
    const owners = this.#owners
    const before = this.#before
    this.#owners = new Map()
    this.#before = [...owners.keys()]
    if (!this.#bus.wants('metrics.tick')) return
    const all = none()
    for (const [ownerId, sums] of owners) {
      this.#bus.emit('metrics.tick', ownerId, tickOf(sums, seconds))
      all.calls += sums.calls
      all.errors += sums.errors
      all.totalMs += sums.totalMs
      all.maxMs = Math.max(all.maxMs, sums.maxMs)
    }
    for (const ownerId of before)
      if (!owners.has(ownerId)) this.#bus.emit('metrics.tick', ownerId, tickOf(none(), seconds))
    this.#bus.emit('metrics.tick', null, tickOf(all, seconds))
  }
}

function tickOf({ calls, errors, totalMs, maxMs }: Sums, seconds: number): PluginEvents['metrics.tick'] {
  const rounded = (ms: number): number | null => (calls === 0 ? null : Number(ms.toFixed(2)))
  return { seconds, calls, errors, avgMs: rounded(totalMs / calls), maxMs: rounded(maxMs) }
}

function none(): Sums {
  return { calls: 0, errors: 0, totalMs: 0, maxMs: 0 }
}
