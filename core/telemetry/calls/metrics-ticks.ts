import type { PluginEvents } from '../../contract/events.ts'
import type { EventBus } from '../../events/bus.ts'
import { addRow, type CallRing, type CallRow, emptyRow } from './call-ring.ts'

/** Time after the end of a slot at which it is read, in milliseconds: a timer may be early. */
const AFTER_MS = 2

/**
 * Emits `metrics.tick` at the end of each slot of the ring while there are listeners: for each user whose servers were called or
 * who called, once more with zeros after the last calls, and for all users together.
 */
export class MetricsTicks {
  readonly #bus: Pick<EventBus, 'wants' | 'emit'>
  readonly #ring: CallRing
  #timer: ReturnType<typeof setTimeout> | undefined
  /** End of the last tick. */
  #until: number
  #before: readonly string[] = []

  constructor(bus: Pick<EventBus, 'wants' | 'emit'>, ring: CallRing) {
    this.#bus = bus
    this.#ring = ring
    this.#until = ring.present
    this.#schedule()
  }

  dispose(): void {
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    const { slotMs, leftMs } = this.#ring
    this.#timer = setTimeout(() => this.#tick(), Math.min(leftMs + AFTER_MS, slotMs))
    this.#timer.unref()
  }

  #tick(): void {
    this.#schedule()
    const [from, until] = [this.#until, this.#ring.present]
    if (until <= from) {
      // The clock was set back.
      this.#until = until
      return
    }
    this.#until = until
    this.#ring.pack()
    const { owners, all } = this.#sums(from, until)
    const before = this.#before
    this.#before = [...owners.keys()]
    if (!this.#bus.wants('metrics.tick')) return
    const seconds = this.#ring.slotMs / 1_000
    for (const [ownerId, sums] of owners) this.#bus.emit('metrics.tick', ownerId, tickOf(sums, seconds))
    for (const ownerId of before)
      if (!owners.has(ownerId)) this.#bus.emit('metrics.tick', ownerId, tickOf(none(), seconds))
    this.#bus.emit('metrics.tick', null, tickOf(all, seconds))
  }

  /** Calls of each owner of servers and each caller, and of all. */
  #sums(from: number, until: number) {
    const owners = new Map<string, CallRow>()
    const all = none()
    for (const [, row] of this.#ring.rows(from, until)) {
      const counted = { ...row, durations: undefined }
      addRow(all, counted)
      for (const userId of new Set([row.ownerId, row.userId])) {
        // Calls beyond the limit of the ring are nobody's.
        if (userId === '') continue
        const sums = owners.get(userId) ?? none()
        owners.set(userId, sums)
        addRow(sums, counted)
      }
    }
    return { owners, all }
  }
}

function tickOf({ calls, failed, timed, sum, greatest }: CallRow, seconds: number): PluginEvents['metrics.tick'] {
  const rounded = (micros: number): number | null => (timed === 0 ? null : Number((micros / 1_000).toFixed(2)))
  return { seconds, calls, errors: failed, avgMs: rounded(sum / timed), maxMs: rounded(greatest) }
}

function none(): CallRow {
  return emptyRow({ ownerId: '', serverId: '', server: '', tool: '', userId: '', outcome: 'ok', isSent: true })
}
