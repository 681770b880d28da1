import { describe, expect, test } from 'bun:test'
import { createRateLimiter, TokenBuckets } from '../../../core/auth/rate-limit.ts'
import { createSignInThrottle } from '../../../core/auth/throttle.ts'
import { HubError } from '../../../core/contract/errors.ts'
import type { UserActor } from '../../../core/contract/records.ts'

function waitOf(work: () => unknown): number {
  try {
    work()
    return 0
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    return error.retryAfterSeconds ?? -1
  }
}

describe('createSignInThrottle()', () => {
  test('attempt() lets five failures through, then waits 1 s doubling to 60 s, and never for good', () => {
    let nowMs = 0
    const throttle = createSignInThrottle(() => nowMs)
    for (let failure = 1; failure <= 5; failure += 1) throttle.attempt('ada', '10.0.0.1')
    const waits: number[] = []
    for (let round = 0; round < 9; round += 1) {
      const seconds = waitOf(() => throttle.attempt('ada', '10.0.0.1'))
      waits.push(seconds)
      nowMs += seconds * 1000
      throttle.attempt('ada', '10.0.0.1')
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  test('attempt() counts parallel attempts before their outcome is known', () => {
    const throttle = createSignInThrottle(() => 0)
    const outcomes = Array.from({ length: 20 }, () => waitOf(() => throttle.attempt('ada', '10.0.0.1')))
    expect(outcomes.filter(wait => wait === 0)).toHaveLength(5)
  })

  test('attempt() starts afresh after a success, and forgets an attempt that was not checked', () => {
    const throttle = createSignInThrottle(() => 0)
    for (let round = 0; round < 20; round += 1) throttle.attempt('ada', '10.0.0.1').succeeded()
    for (let round = 0; round < 20; round += 1) throttle.attempt('ada', '10.0.0.1').withdrawn()
    expect(waitOf(() => throttle.attempt('ada', '10.0.0.1'))).toBe(0)
  })

  test('attempt() takes spellings of one name for one account', () => {
    let nowMs = 0
    const throttle = createSignInThrottle(() => nowMs)
    for (const name of ['ada', 'Ada', 'ADA', 'ａｄａ', 'aDa']) {
      throttle.attempt(name, '10.0.0.1')
      nowMs += 1
    }
    expect(waitOf(() => throttle.attempt('ada', '10.0.0.1'))).toBe(1)
  })

  test('attempt() slows an address down over many accounts, and another address not', () => {
    const throttle = createSignInThrottle(() => 0)
    for (let name = 0; name < 5; name += 1) throttle.attempt(`user${name}`, '10.0.0.1')
    expect(waitOf(() => throttle.attempt('user9', '10.0.0.1'))).toBe(1)
    expect(waitOf(() => throttle.attempt('user9', '10.0.0.2'))).toBe(0)
  })

  test('attempt() forgets failures after a quarter of an hour', () => {
    let nowMs = 0
    const throttle = createSignInThrottle(() => nowMs)
    for (let failure = 1; failure <= 5; failure += 1) throttle.attempt('ada', '10.0.0.1')
    nowMs += 15 * 60_000
    for (let failure = 1; failure <= 5; failure += 1) throttle.attempt('ada', '10.0.0.1')
  })
})

describe('createRateLimiter()', () => {
  const ada: UserActor = { kind: 'user', userId: 'u1', name: 'ada', role: 'user', credential: { kind: 'local' } }

  test('count() takes a burst of 100 from a person and refuses the 101st with the time to wait', () => {
    let nowMs = 0
    const limiter = createRateLimiter(() => nowMs)
    for (let request = 1; request <= 100; request += 1) limiter.count(ada, '')
    expect(waitOf(() => limiter.count(ada, ''))).toBe(1)
    nowMs += 1_000
    for (let request = 1; request <= 50; request += 1) limiter.count(ada, '')
    expect(waitOf(() => limiter.count(ada, ''))).toBe(1)
  })

  test('count() takes a burst of 20 from an address, whatever others do', () => {
    const limiter = createRateLimiter(() => 0)
    for (let request = 1; request <= 20; request += 1) limiter.count(undefined, '10.0.0.1')
    expect(waitOf(() => limiter.count(undefined, '10.0.0.1'))).toBe(1)
    expect(waitOf(() => limiter.count(undefined, '10.0.0.2'))).toBe(0)
    expect(waitOf(() => limiter.count(ada, '10.0.0.1'))).toBe(0)
  })

  test('TokenBuckets remembers a bounded number of keys', () => {
    const buckets = new TokenBuckets({ perSecond: 1, burst: 1, maxKeys: 100, now: () => 0 })
    for (let key = 0; key < 10_000; key += 1) buckets.take(String(key))
    expect(buckets.size).toBe(100)
  })
})

test('a debt is taken at once, and paid for by a wait', () => {
  let nowMs = 0
  const buckets = new TokenBuckets({ perSecond: 10, burst: 20, now: () => nowMs })
  expect([buckets.owe('a', 15), buckets.owe('a', 5), buckets.owe('a', 5), buckets.owe('a', 5)]).toEqual([0, 0, 0.5, 1])
  expect(buckets.owe('b', 20)).toBe(0)
  nowMs = 1_000
  expect([buckets.waitSeconds('a'), buckets.owe('a', 0)]).toEqual([0.1, 0])
  nowMs = 60_000
  expect(buckets.owe('a', 21)).toBe(0.1)
})
