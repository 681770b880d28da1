/** A refusal's time to wait is true, whatever was used before. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Meter } from '../../../plugins/quotas/meter.ts'
import { check } from '../../support/fuzz.ts'

const MIDNIGHT_MS = Date.UTC(2026, 10, 30)
const BEFORE = { day: '2026-11-29', calls: 0, tokens: 0 }
const quotas = fc.record(
  { perMinute: fc.integer({ min: 1, max: 4 }), perDay: fc.integer({ min: 1, max: 6 }) },
  { requiredKeys: [] },
)

test('after the seconds of a refusal the call passes, and not two seconds before', async () => {
  await check(
    // Calls around midnight, when both the minute and the day end.
    fc.property(quotas, fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 30 }), (quota, gaps) => {
      let nowMs = MIDNIGHT_MS - 100_000
      const meter = new Meter(BEFORE)
      for (const gap of gaps) {
        nowMs += gap
        const reached = meter.reached(quota, nowMs)
        if (!reached) {
          meter.begin(nowMs)
          meter.end(nowMs, nowMs, true)
          continue
        }
        const waitMs = reached.retryAfterSeconds * 1_000
        expect(waitMs).toBeGreaterThan(0)
        if (waitMs > 2_000) expect(meter.reached(quota, nowMs + waitMs - 2_000)).toBeDefined()
        nowMs += waitMs
        expect(meter.reached(quota, nowMs)).toBeUndefined()
      }
    }),
  )
})

test('of several limits that are reached, the one that lasts longest is named; a limit of 0 has no end', () => {
  const nowMs = MIDNIGHT_MS - 5_500
  const meter = new Meter(BEFORE)
  meter.begin(nowMs)
  const { code, retryAfterSeconds } = meter.reached({ perDay: 1, perMinute: 1, atOnce: 1 }, nowMs) ?? {}
  expect([code, retryAfterSeconds]).toEqual(['quota_rate', 60])
  expect(meter.reached({ perDay: 1, atOnce: 1 }, nowMs)).toEqual({ code: 'quota_day', limit: 1, retryAfterSeconds: 6 })
  const closed = meter.reached({ perDay: 1, atOnce: 0 }, nowMs)
  expect([closed?.code, closed?.retryAfterSeconds]).toEqual(['quota_at_once', Number.POSITIVE_INFINITY])
})
