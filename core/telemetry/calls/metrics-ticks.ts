import type { PluginEvents } from '../../contract/events.ts'
import type { EventBus } from '../../events/bus.ts'
import { type EndedCall, isFailedCall, reachedServer } from './ended-call.ts'

const TICK_MS = 10_000

interface Sums {
  calls: number
  errors: number
  /** Calls that reached a server; the times are of these. */
  timed: number
  totalMs: number
  maxMs: number
}

/**
 * Emits `metrics.tick` every 10 s while there are listeners: for each user whose servers were called or who called, once more
 * with zeros after the last calls, and for all users together.
 */
export class MetricsTicks {
  readonly #bus: Pick<EventBus, 'wants' | 'emit'>
  readonly #timer: ReturnType<typeof setInterval>
  #owners = new Map<string, Sums>()
  #all = none()
  #before: readonly string[] = []

  /** `tickMs`: 10,000 by default. */
  constructor(bus: Pick<EventBus, 'wants' | 'emit'>, tickMs = TICK_MS) {
    this.#bus = bus
    this.#timer = setInterval(() => this.#tick(tickMs / 1_000), tickMs)
    this.#timer.unref()
  }

  /** A call that ended: one of the owner of its server, and of its caller. */
  call(call: TickedCall): void {
    add(this.#all, call)
    this.#addTo(call.ownerId, call)
    if (call.userId !== call.ownerId) this.#addTo(call.userId, call)
  }

  #addTo(userId: string, call: TickedCall): void {
    const sums = this.#owners.get(userId) ?? none()
    // No effect where the column exists.
    this.#owners.set(userId, sums)
    add(sums, call)
  }

  dispose(): void {
    clearInterval(this.#timer)
  }

  #tick(seconds: number): void {
    const owners = this.#owners
    const before = this.#before
    const all = this.#all
    this.#owners = new Map()
    this.#all = none()
    this.#before = [...owners.keys()]
    if (!this.#bus.wants('metrics.tick')) return
    for (const [ownerId, sums] of owners) this.#bus.emit('metrics.tick', ownerId, tickOf(sums, seconds))
    for (const ownerId of before)
      if (!owners.has(ownerId)) this.#bus.emit('metrics.tick', ownerId, tickOf(none(), seconds))
    this.#bus.emit('metrics.tick', null, tickOf(all, seconds))
  }
}

type TickedCall = Pick<EndedCall, 'ownerId' | 'userId' | 'serverId' | 'durationMs' | 'outcome'>

function add(sums: Sums, call: TickedCall): void {
  sums.calls += 1
  if (isFailedCall(call)) sums.errors += 1
  if (!reachedServer(call)) return
  sums.timed += 1
  sums.totalMs += call.durationMs
  if (call.durationMs > sums.maxMs) sums.maxMs = call.durationMs
}

function tickOf({ calls, errors, timed, totalMs, maxMs }: Sums, seconds: number): PluginEvents['metrics.tick'] {
  const rounded = (ms: number): number | null => (timed === 0 ? null : Number(ms.toFixed(2)))
  return { seconds, calls, errors, avgMs: rounded(totalMs / timed), maxMs: rounded(maxMs) }
}

function none(): Sums {
  return { calls: 0, errors: 0, timed: 0, totalMs: 0, maxMs: 0 }
}
