import { TokenBuckets } from '../../auth/rate-limit.ts'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import { RefusedMessage } from './http-errors.ts'

/**
 * Counts the messages of each user that the hub itself refuses: 50 a second, 200 at once. Calls that reach a server have no
 * rate here, but what nobody answers must not be free, since reading it and saying what is wrong takes the hub's own time.
 */
export class Refusals {
  readonly #buckets: TokenBuckets

  /** `now`: milliseconds, from any start. */
  constructor(now: () => number) {
    this.#buckets = new TokenBuckets({
      perSecond: LIMITS.refusedMessagesPerSecondPerUser,
      burst: LIMITS.refusedMessageBurstPerUser,
      now,
    })
  }

  /** Whether the next refusal of this user is going to be `rate_limited`, so that nothing else need be found out. */
  exhausted(userId: string): boolean {
    return this.#buckets.waitSeconds(userId) > 0
  }

  /** Counts one refusal. What is to be answered: the error itself, or `rate_limited`. Faults of the hub are not counted. */
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
