import { TokenBuckets } from '../../auth/rate-limit.ts'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import { RefusedMessage } from './http-errors.ts'

/**
 * Rate limit of each user's messages that the hub itself rejects: 50 a second, a burst of 200. Calls that reach a
 * server are not limited here; rejected ones must not be free, since parsing and answering takes the hub's own time.
 */
export class Refusals {
  readonly #buckets: TokenBuckets

  /** `now`: milliseconds of a monotonic clock, from any origin. */
  constructor(now: () => number) {
    this.#buckets = new TokenBuckets({
      perSecond: LIMITS.refusedMessagesPerSecondPerUser,
      burst: LIMITS.refusedMessageBurstPerUser,
      now,
    })
  }

  /** True when the next rejection of this user will be `rate_limited`, so that the message need not be validated. */
  exhausted(userId: string): boolean {
    return this.#buckets.waitSeconds(userId) > 0
  }

  /** Counts one rejection and returns the error to send: this one or `rate_limited`. 5xx errors do not count. */
  answerTo(userId: string, thrown: unknown): unknown {
    const error = thrown instanceof RefusedMessage ? thrown.error : thrown
    if (!(error instanceof HubError) || error.status >= 500) return thrown
    const waitSeconds = this.#buckets.take(userId)
    if (waitSeconds === 0) return thrown
    const limited = new HubError(
      'rate_limited',
      `More than ${LIMITS.refusedMessagesPerSecondPerUser} messages a second were refused`,
      { retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)) },
    )
    return thrown instanceof RefusedMessage ? new RefusedMessage(thrown.id, limited) : limited
  }
}
