import { describe, expect, test } from 'bun:test'
import { createFailedCredentials } from '../../../core/auth/failed-credentials.ts'
import { LIMITS } from '../../../core/config/limits.ts'
import { HubError } from '../../../core/contract/errors.ts'

const BURST = LIMITS.failedCredentialBurstPerAddress
const wrong = async () => {
  throw new HubError('token_revoked', 'Wrong')
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'passed',
    error => (error instanceof HubError ? error.code : String(error)),
  )
}

describe('counted()', () => {
  test('counted() does not run the check of an address that has nothing left, and fills up with time', async () => {
    const clock = { ms: 0 }
    const failures = createFailedCredentials(() => clock.ms)
    for (let n = 0; n < BURST; n += 1) expect(await codeOf(failures.counted('a', wrong))).toBe('token_revoked')
    let ran = false
    const check = async () => {
      ran = true
    }
    const error = await failures.counted('a', check).catch(refused => refused)
    expect([error.code, error.retryAfter, ran]).toEqual(['rate_limited', 1, false])
    expect(await codeOf(failures.counted('b', wrong))).toBe('token_revoked')
    clock.ms += 1_000 / LIMITS.failedCredentialsPerSecondPerAddress
    expect(await codeOf(failures.counted('a', check))).toBe('passed')
  })

  test('counted() counts before the check ends, so that parallel guesses do not pass together', async () => {
    const failures = createFailedCredentials(() => 0)
    const codes = await Promise.all(Array.from({ length: 2 * BURST }, () => codeOf(failures.counted('a', wrong))))
    expect(codes.filter(code => code === 'token_revoked').length).toBe(BURST)
  })

  test('counted() takes nothing for good credentials and for a store that cannot be asked', async () => {
    const failures = createFailedCredentials(() => 0)
    for (let n = 0; n < 3 * BURST; n += 1) {
      expect(await failures.counted('a', async () => n)).toBe(n)
      const down = async () => {
        throw new HubError('storage_unavailable', 'Down')
      }
      expect(await codeOf(failures.counted('a', down))).toBe('storage_unavailable')
    }
    expect(await codeOf(failures.counted('a', wrong))).toBe('token_revoked')
  })
})
