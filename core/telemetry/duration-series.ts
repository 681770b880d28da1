import type { DurationKey, DurationKind, DurationRow } from '../features/log-store.ts'
import { Histogram } from './histogram.ts'
import { SLOT_MS } from './log-tally.ts'

/** Highest number of series in one slot; further ones are counted for their owner only. */
const MOST_SERIES = 500
/** Most rows that wait because they cannot be stored. */
const MOST_WAITING = 3_000

/** All measured operations. */
export const DURATION_KINDS = [
  ...(['server_startup', 'tool_execution', 'api_requests'] as const),
] satisfies readonly DurationKind[]

interface Sums {
  readonly key: DurationKey
  count: number
  failed: number
  sum: number
  least: number
  greatest: number
  readonly histogram: Histogram
}

/** Adds up durations by slots of 10 s. Takes a fraction of a microsecond each. */
export class DurationSeries {
  readonly #now: () => number
  #at = 0
  #slot = new Map<string, Sums>()
  #finished: DurationRow[] = []

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** `ms` undefined: it is counted without a duration. */
  add(key: DurationKey, ms: number | undefined, failed: boolean): void {
    const at = Math.floor(this.#now() / SLOT_MS) * SLOT_MS
    if (at !== this.#at) this.#finish(at)
    const sums = this.#sums(key)
    sums.count += 1
    if (failed) sums.failed += 1
    if (ms === undefined) return
    const micros = Math.round(ms * 1_000)
    sums.sum += micros
    if (micros < sums.least) sums.least = micros
    if (micros > sums.greatest) sums.greatest = micros
    sums.histogram.add(micros)
  }

  /** Returns and removes all rows since the last call. */
  take(): readonly DurationRow[] {
    this.#finish(this.#at)
    const rows = this.#finished
    this.#finished = []
    return rows
  }

  /** Puts back rows that could not be stored. Rows above 3,000 are lost. */
  putBack(rows: readonly DurationRow[]): void {
    this.#finished = [...rows, ...this.#finished].slice(-MOST_WAITING)
  }

  #finish(nextAt: number): void {
    for (const { key, histogram, ...numbers } of this.#slot.values()) {
      if (this.#finished.length >= MOST_WAITING) this.#finished.shift()
      const least = Number.isFinite(numbers.least) ? numbers.least : 0
      this.#finished.push({ ...key, ...numbers, least, at: this.#at, histogram: histogram.encode() })
    }
    this.#slot = new Map()
    this.#at = nextAt
  }

  #sums(key: DurationKey): Sums {
    const id = idOf(key)
    const known = this.#slot.get(id)
    if (known) return known
    if (this.#slot.size < MOST_SERIES) return this.#begin(id, key)
    const { kind, owner } = key
    const folded = { kind, owner: this.#slot.size < 2 * MOST_SERIES ? owner : '', serverId: '', server: '', tool: '' }
    return this.#slot.get(idOf(folded)) ?? this.#begin(idOf(folded), folded)
  }

  #begin(id: string, key: DurationKey): Sums {
    const sums = {
      ...{ key, count: 0, failed: 0, sum: 0 },
      ...{ least: Number.POSITIVE_INFINITY, greatest: 0, histogram: new Histogram() },
    }
    this.#slot.set(id, sums)
    return sums
  }
}

function idOf({ kind, owner, serverId, tool }: DurationKey): string {
  return `${kind}\n${owner}\n${serverId}\n${tool}`
}
