import { expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { killedSave, killedStore, SAVE_CALLS, several } from '../support/kill-runs.ts'

const STORE_RUNS = extent(12, 50)
/** Most of a run is the start of a program: more at a time than there are processors. */
const AT_ONCE = 4

test(`kill -9 in the middle of store writes: what was acknowledged is there, and whole, in ${STORE_RUNS} of ${STORE_RUNS} runs`, async () => {
  const runs = Array.from({ length: STORE_RUNS }, (_, run) => 5 + Math.round((run * 150) / STORE_RUNS))
  const acknowledged = await several(runs, AT_ONCE, killedStore)
  expect(acknowledged.every((count, run) => count >= (runs[run] ?? 0))).toBe(true)
}, 120_000)

for (const [what, [calls, times, rounds]] of Object.entries(SAVE_CALLS)) {
  test(`kill -9 at each ${what} of four saves, ${times * rounds} runs: the file is one whole version, none older than acknowledged`, async () => {
    const nths = Array.from({ length: times * rounds }, (_, index) => 1 + (index % times))
    const seen = new Set(await several(nths, AT_ONCE, nth => killedSave(calls, nth)))
    // The kills did hit different places.
    expect(seen.size).toBeGreaterThan(1)
  }, 120_000)
}

test('these are all places, and two hundred runs in the whole', () => {
  const runs = Object.values(SAVE_CALLS).map(([, times, rounds]) => times * rounds)
  expect(runs.reduce((sum, count) => sum + count)).toBe(extent(32, 200))
})
