import { expect, test } from 'bun:test'
import { broken, soak } from '../soak/soak.ts'
import { extent } from '../support/extent.ts'

const CALLS = extent(15_000, 100_000)
/** Growth of live objects over all calls. Their size varies by 1.4 MB: a million calls even that out, and these do not. */
const MOST_HEAP_BYTES = 3 * 1024 * 1024
/** Seen at 4 to 5 MB, and once at 8.1 beside three other families: pages that the allocator keeps. */
const MOST_RESIDENT_BYTES = 12 * 1024 * 1024
/** The measured value is growth per million calls. */
const SHARE = CALLS / 1_000_000

test(`${CALLS} calls: every one answered, and memory, descriptors, children and timers as before`, async () => {
  // Most of the time goes into the looks, since each collects all garbage.
  const result = await soak({ calls: CALLS, seed: 1, quiet: true, parts: 5, looks: 5 })
  expect(result.answered).toBeGreaterThanOrEqual(CALLS)
  expect(broken(result, MOST_RESIDENT_BYTES / SHARE)).toEqual([])
  expect(result.heapSlope * SHARE).toBeLessThan(MOST_HEAP_BYTES)
}, 600_000)
