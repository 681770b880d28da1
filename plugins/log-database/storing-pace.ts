import { availableParallelism } from 'node:os'
import { FEW_PROCESSORS } from 'patchbay/log-kit'

/** Pause after storing, as a multiple of its duration: storing uses at most a twentieth of a processor. */
const REST = 19
/** An eight-hundredth, in a flood. */
const FLOOD_REST = 799
/** Most records that are stored at once in a flood: those of PostgreSQL have their terms made for 5 ms, instead of 25. */
const FLOOD_BATCH = 400
/** Records a second that count as a flood. Of this many, four in five are lost even with a twentieth of a processor. */
const FLOOD = 5_000
const LOOK_MS = 1_000

/**
 * Determines the batch size of the history thread, and its pauses. With few processors it stores less in a flood, since a call
 * that needs the thread's processor has to wait: with 20,000 records a second on two, a call in a hundred took 1.0 ms without
 * logging, 1.3 with an eight-hundredth of a processor for 150 records at once, and 1.5 with a four-hundredth for 30, which
 * stores as many records a second, but delays four times as many calls.
 */
export class StoringPace {
  readonly #batch: number
  readonly #hasFew: boolean
  #arrived = 0
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #isFlooded = false

  /** `batch`: records of one transaction when there is no flood. */
  constructor(batch: number, processors = availableParallelism()) {
    this.#batch = batch
    this.#hasFew = processors <= FEW_PROCESSORS
  }

  /** Records of one transaction now. */
  get batch(): number {
    return this.#isSlow ? Math.min(this.#batch, FLOOD_BATCH) : this.#batch
  }

  /** Milliseconds of rest for each one of storing. `arrived`: records so far. `nowMs`: of a clock that only goes forward. */
  restAfter(arrived: number, nowMs = performance.now()): number {
    const sinceMs = nowMs - this.#lookedAtMs
    if (sinceMs >= LOOK_MS) {
      this.#isFlooded = ((arrived - this.#arrived) / sinceMs) * 1_000 > FLOOD
      this.#arrived = arrived
      this.#lookedAtMs = nowMs
    }
    return this.#isSlow ? FLOOD_REST : REST
  }

  get #isSlow(): boolean {
    return this.#hasFew && this.#isFlooded
  }
}
