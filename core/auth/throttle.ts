import { LRUCache } from 'lru-cache'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import { NAME_CHARACTERS, nameKey } from '../domain/names.ts'
import { TokenBuckets } from './rate-limit.ts'

/** Failures without a wait, for mistyped passwords. */
const FREE_FAILURES = 5
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** Failures are forgotten after this long without another one. */
const MEMORY_MS = 15 * 60_000
const MAX_PAIRS = 10_000

interface Failures {
  count: number
  lastAtMs: number
  openAtMs: number
}

/** Reports the outcome of an attempt: call one of the two, or neither when it failed. */
export interface SignInAttempt {
  /** Resets the pair of account and address, and returns the address's token: only guessing is slowed down. */
  succeeded(): void
  /** The password was not checked (the hub was too busy), so the attempt does not count. */
  withdrawn(): void
}

/** Slows down guesses of passwords. */
export interface SignInThrottle {
  /**
   * Counts an attempt as failed until its outcome is known, so that parallel guesses cannot exceed the limit. Throws
   * `login_throttled` with the seconds to wait: after 5 failures per account and address 1 s, doubling to 60 s; and
   * beyond one attempt a second (burst 5) per address. Never locks an account.
   */
  attempt(account: string, addressKey: string): SignInAttempt
}

/** `now`: milliseconds of a monotonic clock. State is in memory and ends with the process. */
export function createSignInThrottle(now: () => number = () => performance.now()): SignInThrottle {
  const pairs = new LRUCache<string, Failures>({ max: MAX_PAIRS })
  const addresses = new TokenBuckets({
    perSecond: LIMITS.signInsPerSecondPerAddress,
    burst: LIMITS.signInBurstPerAddress,
    now,
  })
  return {
    attempt(account, addressKey) {
      const nowMs = now()
      const pair = `${nameKey(account.slice(0, 2 * NAME_CHARACTERS))}\n${addressKey}`
      const known = pairs.get(pair)
      const before = known && nowMs - known.lastAtMs < MEMORY_MS ? known : { count: 0, lastAtMs: nowMs, openAtMs: 0 }
      if (before.openAtMs > nowMs) throw throttled((before.openAtMs - nowMs) / 1000)
      const waitSeconds = addresses.take(addressKey)
      if (waitSeconds > 0) throw throttled(waitSeconds)

      const count = before.count + 1
      pairs.set(pair, { count, lastAtMs: nowMs, openAtMs: nowMs + waitAfterMs(count) })
      return {
        succeeded() {
          pairs.delete(pair)
          addresses.giveBack(addressKey)
        },
        withdrawn() {
          pairs.set(pair, before)
          addresses.giveBack(addressKey)
        },
      }
    },
  }
}

function waitAfterMs(failures: number): number {
  if (failures < FREE_FAILURES) return 0
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - FREE_FAILURES))
}

function throttled(seconds: number): HubError {
  const retryAfterSeconds = Math.max(1, Math.ceil(seconds))
  return new HubError('login_throttled', `Too many failed sign-ins: wait ${retryAfterSeconds} s`, {
    retryAfterSeconds,
  })
}
