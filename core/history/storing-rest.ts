import { availableParallelism } from 'node:os'
import { FEW_PROCESSORS } from '../domain/log/few-processors.ts'

/** For each millisecond of storing the thread rests so many: storing takes at most a twentieth of a processor. */
const REST = 19
/** A four-hundredth, in a flood. */
const FLOOD_REST = 399
/** Records a second. Of so many, four in five are lost with a twentieth of a processor as well. */
const FLOOD = 5_000
const LOOK_MS = 1_000

/**
 * How long the history thread rests. Where processors are few it rests longer in a flood, since nearly each call has to wait then
 * for whatever runs: with 20,000 records a second on two, a call in a hundred took 3.4 ms with a twentieth, and 2.5 with a
 * four-hundredth, as without the history.
 */
export class StoringRest {
  readonly #floodRest: number
  #arrived = 0
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #rest = REST

  constructor(processors = availableParallelism()) {
    this.#floodRest = processors > FEW_PROCESSORS ? REST : FLOOD_REST
  }

  /** Milliseconds for each one of storing. `arrived`: records so far. `nowMs`: of a clock that only goes forward. */
  after(arrived: number, nowMs = performance.now()): number {
    const sinceMs = nowMs - this.#lookedAtMs
    if (sinceMs < LOOK_MS) return this.#rest
    this.#rest = ((arrived - this.#arrived) / sinceMs) * 1_000 > FLOOD ? this.#floodRest : REST
    this.#arrived = arrived
    this.#lookedAtMs = nowMs
    return this.#rest
  }
}
