import { availableParallelism } from 'node:os'
import { FEW_PROCESSORS } from '../domain/log/few-processors.ts'

/** For each millisecond of storing the thread rests so many: storing takes at most a twentieth of a processor. */
const REST = 19
/** A four-hundredth, in a flood. */
const FLOOD_REST = 399
/**
 * How much of a usual batch is stored at once in a flood. A call that needs the thread's processor waits until that is done: 2 ms
 * for 150 records in SQLite.
 */
const FLOOD_PART = 1 / 5
/** Records a second. Of so many, four in five are lost with a twentieth of a processor as well. */
const FLOOD = 5_000
const LOOK_MS = 1_000

/**
 * How much the history thread stores at once, and how long it rests. Where processors are few it stores less and rests longer in a
 * flood, since nearly each call has to wait then for whatever runs: with 20,000 records a second on two, a call in a hundred took
 * 3.4 ms with a twentieth, and 2.5 with a four-hundredth, as without the history.
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
    return this.#isSlow ? Math.ceil(this.#batch * FLOOD_PART) : this.#batch
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
