import { expect, test } from 'bun:test'
import { broken, soak } from '../soak/soak.ts'

const CALLS = 100_000
/** Of live objects: 21 bytes a call. They come and go by 1.4 MB, which a million calls even out and these do not. */
const MOST_HEAP_BYTES = 2 * 1024 * 1024
const MOST_RESIDENT_BYTES = 10 * 8 * 1024 * 1024

test(`${CALLS} calls: every one answered, and memory, descriptors, children and timers as before`, async () => {
  const result = await soak({ calls: CALLS, seed: 1, quiet: true })
  expect(result.answered).toBeGreaterThanOrEqual(CALLS)
  expect(broken(result, MOST_RESIDENT_BYTES)).toEqual([])
  expect(result.heapSlope / 10).toBeLessThan(MOST_HEAP_BYTES)
}, 300_000)
