import { expect, test } from 'bun:test'
import { broken, soak } from '../soak/soak.ts'

const CALLS = 100_000
/** A tenth of what a million calls may leave behind, in live objects; resident memory moves by more than that by itself. */
const MOST_HEAP_BYTES = (8 * 1024 * 1024) / 10
const MOST_RESIDENT_BYTES = 10 * 8 * 1024 * 1024

test(`${CALLS} calls: every one answered, and memory, descriptors, children and timers as before`, async () => {
  const result = await soak({ calls: CALLS, seed: 1, quiet: true })
  expect(result.answered).toBeGreaterThanOrEqual(CALLS)
  expect(broken(result, MOST_RESIDENT_BYTES)).toEqual([])
  expect(result.heapSlope / 10).toBeLessThan(MOST_HEAP_BYTES)
}, 300_000)
