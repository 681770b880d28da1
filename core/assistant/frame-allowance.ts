import { TokenBuckets } from '../auth/rate-limit.ts'

const PER_SECOND = 100
const BURST = 400
/** Characters or bytes of a frame that cost as much as a frame. */
const LENGTH = 4_096

/**
 * Limits the frames that the assistants of one user may send over all endpoints: 100 a second, after 400 at once; a long frame
 * counts once more for each 4,096 characters, since reading it is work too.
 */
export class FrameAllowance {
  readonly #buckets: TokenBuckets

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#buckets = new TokenBuckets({ perSecond: PER_SECOND, burst: BURST, now })
  }

  /** Counts a frame of this length; false when it is too much. */
  take(ownerId: string, length: number): boolean {
    const cost = Math.min(1 + Math.floor(length / LENGTH), BURST + 1)
    for (let taken = 0; taken < cost; taken += 1) if (this.#buckets.take(ownerId) > 0) return false
    return true
  }
}
