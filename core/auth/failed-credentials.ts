import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import { TokenBuckets } from './rate-limit.ts'

/** Limits guesses of credentials per address. */
export interface FailedCredentials {
  /**
   * Runs the check of an unverified credential, and counts it against its address unless it succeeds. Counted before
   * `check` starts, so that parallel guesses cannot exceed the limit. Throws `rate_limited` without running it when the
   * limit is used up.
   */
  counted<T>(addressKey: string, check: () => Promise<T>): Promise<T>
}

/** Wrong credentials per address: 10 a second, burst 100; the 10,000 most recent addresses are remembered. */
export function createFailedCredentials(now: () => number = () => performance.now()): FailedCredentials {
  const addresses = new TokenBuckets({
    perSecond: LIMITS.failedCredentialsPerSecondPerAddress,
    burst: LIMITS.failedCredentialBurstPerAddress,
    maxKeys: LIMITS.failedCredentialAddresses,
    now,
  })
  return {
    async counted(addressKey, check) {
      const waitSeconds = addresses.take(addressKey)
      if (waitSeconds > 0) throw tooMany(waitSeconds)
      let result: Awaited<ReturnType<typeof check>>
      try {
        result = await check()
      } catch (error) {
        // The store failed, so nothing is known about the credential.
        if (!(error instanceof HubError) || error.status >= 500) addresses.giveBack(addressKey)
        throw error
      }
      addresses.giveBack(addressKey)
      return result
    },
  }
}

function tooMany(seconds: number): HubError {
  return new HubError('rate_limited', 'Too many wrong credentials came from this address', {
    retryAfterSeconds: Math.max(1, Math.ceil(seconds)),
    hint: 'Wait, and send a credential that is valid; one that was accepted before goes on working.',
  })
}
