import { expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { killedSave, killedStore, SAVE_CALLS, several } from '../support/kill-runs.ts'

const STORE_RUNS = extent(2, 50)
/** Most of a run is the start of a program: more at a time than there are processors. */
const AT_ONCE = 4

test(`kill -9 in the middle of store writes: what was acknowledged is there, and whole, in ${STORE_RUNS} of ${STORE_RUNS} runs`, async () => {
  const runs = Array.from({ length: STORE_RUNS }, (_, run) => 5 + Math.round((run * 150) / STORE_RUNS))
  const acknowledged = await several(runs, AT_ONCE, killedStore)
  expect(acknowledged.every((count, run) => count >= (runs[run] ?? 0))).toBe(true)
}, 120_000)

/** The nth of how many such calls, which are of four saves: of two saves in the suite, and all of them as often as the table says. */
const PLACES: Readonly<Record<string, readonly number[]>> = { write: [1, 12], fsync: [1, 6], rename: [1, 3] }

for (const [what, [calls, times, rounds]] of Object.entries(SAVE_CALLS)) {
  const all = Array.from({ length: times * rounds }, (_, index) => 1 + (index % times))
  const nths = extent(PLACES[what] ?? [], all)
  test(`kill -9 at a ${what} of four saves, ${nths.length} runs: the file is one whole version, none older than acknowledged`, async () => {
    const seen = new Set(await several(nths, AT_ONCE, nth => killedSave(calls, nth)))
    // The kills did hit different places.
    expect(seen.size).toBeGreaterThan(1)
  }, 120_000)
}

test('these are some of each kind, and two hundred runs in the whole', () => {
  const runs = Object.entries(SAVE_CALLS).map(([what, [, times, rounds]]) =>
    extent(PLACES[what]?.length ?? 0, times * rounds),
  )
  expect(Math.min(...runs)).toBeGreaterThan(1)
  expect(runs.reduce((sum, count) => sum + count)).toBe(extent(6, 200))
})
