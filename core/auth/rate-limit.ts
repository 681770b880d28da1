import { LRUCache } from 'lru-cache'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'

/** The limits of one kind of event, per key. */
export interface TokenBucketOptions {
  readonly perSecond: number
  readonly burst: number
  /** Buckets kept; the least recently used one is dropped, and so becomes full again. Default 10_000. */
  readonly maxKeys?: number
  /** Milliseconds of any monotonic clock. */
  readonly now: () => number
}

interface Bucket {
  tokens: number
  atMs: number
}

/** Token buckets by key, refilled at a steady rate up to a burst. */
export class TokenBuckets {
  readonly #options: TokenBucketOptions
  readonly #buckets: LRUCache<string, Bucket>

  constructor(options: TokenBucketOptions) {
    this.#options = options
    this.#buckets = new LRUCache({ max: options.maxKeys ?? 10_000 })
  }

  /** Takes one token. Returns 0 when there was one, else the seconds until there will be, as a fraction. */
  take(key: string): number {
    const bucket = this.#refilled(key)
    if (bucket.tokens < 1) return (1 - bucket.tokens) / this.#options.perSecond
    bucket.tokens -= 1
    return 0
  }

  /** Takes this number of tokens, even if they are not available. Returns the seconds until they would have been, as a fraction. */
  owe(key: string, count: number): number {
    const bucket = this.#refilled(key)
    bucket.tokens -= count
    return Math.max(0, -bucket.tokens / this.#options.perSecond)
  }

  #refilled(key: string): Bucket {
    const { perSecond, burst, now } = this.#options
    const atMs = now()
    const known = this.#buckets.get(key)
    const tokens = known ? Math.min(burst, known.tokens + ((atMs - known.atMs) / 1000) * perSecond) : burst
    const bucket = known ?? { tokens, atMs }
    bucket.tokens = tokens
    bucket.atMs = atMs
    if (!known) this.#buckets.set(key, bucket)
    return bucket
  }

  /** The seconds until there is a token, as a fraction; 0 when there is one. Does not take a token. */
  waitSeconds(key: string): number {
    const { perSecond, now } = this.#options
    const bucket = this.#buckets.peek(key)
    if (!bucket) return 0
    const tokens = bucket.tokens + ((now() - bucket.atMs) / 1000) * perSecond
    return tokens >= 1 ? 0 : (1 - tokens) / perSecond
  }

  /** Returns one token, for a request that should not count. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key)
    if (bucket) bucket.tokens = Math.min(this.#options.burst, bucket.tokens + 1)
  }

  /** Number of keys remembered. */
  get size(): number {
    return this.#buckets.size
  }
}

/** Limits API requests. */
export interface RateLimiter {
  /** Counts one request of a user, or of an address without a sign-in. Throws `rate_limited`. */
  count(actor: UserActor | undefined, addressKey: string): void
}

/** 50 requests a second (burst 100) for each user, 10 (burst 20) for each anonymous address. */
export function createRateLimiter(now: () => number = () => performance.now()): RateLimiter {
  const people = new TokenBuckets({
    perSecond: LIMITS.requestsPerSecondPerUser,
    burst: LIMITS.requestBurstPerUser,
    now,
  })
  const addresses = new TokenBuckets({
    perSecond: LIMITS.requestsPerSecondPerAddress,
    burst: LIMITS.requestBurstPerAddress,
    now,
  })
  return {
    count(actor, addressKey) {
      const waitSeconds = actor ? people.take(actor.userId) : addresses.take(addressKey)
      if (waitSeconds === 0) return
      const rate = actor ? LIMITS.requestsPerSecondPerUser : LIMITS.requestsPerSecondPerAddress
      throw new HubError(
        'rate_limited',
        `More than ${rate} requests a second ${actor ? '' : 'from this address'}`.trim(),
        {
          retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)),
        },
      )
    },
  }
}
