import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { beyondCore, extent } from '../support/extent.ts'
import { Bench } from './measure.ts'
import { type Memory, measureMemory } from './memory.ts'
import { alternate, type Best, best, bothWires, type WireRound } from './rounds.ts'

/**
 * The best of these rounds counts, and no more are run than it takes to reach the floor: other work on the machine makes
 * rounds slower, never faster than the code allows.
 */
const MOST_ROUNDS = extent(16, 10)
const SECONDS = extent(0.5, 0.8)
/** A shared machine can be slow for tens of seconds: a floor that was missed is tried again after this time, twice at most. */
const REST_MS = 20_000
const TRIES = 3
/**
 * Most that the hub may add to one call, in milliseconds, or as a multiple of a call to the raw HTTP server when the machine
 * is slow just now: a call through the hub wakes four threads more than that one.
 */
const ADDED_MS = 0.25
const ADDED_TIMES_DIRECT = 12

describe('floors of the call path', () => {
  let bench: Bench

  beforeAll(async () => {
    bench = await Bench.start()
  }, 120_000)

  afterAll(async () => {
    await bench?.stop()
  }, 120_000)

  /** Rounds by turns, against the raw HTTP server, until `enough`. Errors of any round fail the test. */
  function reach(transport: 'stdio' | 'http', sessions: number, enough: (best: Best) => boolean): Promise<Best> {
    return tried(async () => {
      const rounds = await alternate(bench, transport, sessions, MOST_ROUNDS, SECONDS, 'http', so => enough(best(so)))
      expect(rounds.flatMap(round => round.hub.firstError ?? [])).toEqual([])
      return best(rounds)
    }, enough)
  }

  /** The least processor time per call on the newer wire, divided by the least on the older one, in at least this many rounds. */
  function wireCost(run: Parameters<typeof bothWires>[1], limit: number, leastRounds: number): Promise<number> {
    const cost = (rounds: readonly WireRound[]): number => {
      const least = (wire: 'legacy' | 'modern'): number => Math.min(...rounds.map(round => round[wire].cpuMicros))
      return least('modern') / least('legacy')
    }
    return tried(
      async () => {
        const rounds = await bothWires(MOST_ROUNDS, run, so => so.length >= leastRounds && cost(so) <= limit)
        expect(rounds.flatMap(round => round.legacy.firstError ?? round.modern.firstError ?? [])).toEqual([])
        return cost(rounds)
      },
      reached => reached <= limit,
    )
  }

  // These floors are what short rounds on a shared machine can show: on the same day, the same code gave 0.20 to 0.36 and
  // 0.15 to 0.33. The goals, 0.30 and 0.25, are measured by `bun run bench` on a quiet machine.
  const stdio = ['stdio', 0.14] as const
  for (const [transport, floor] of extent([stdio], [stdio, ['http', 0.11] as const])) {
    // Both against the raw HTTP server, the faster of the two ways that 16 clients have without the hub: a child for each of
    // them makes about half as many calls.
    test(`${transport} at 16 in flight reaches ${floor} of the direct calls per second without an error`, async () => {
      const { ratio } = await reach(transport, 16, so => so.ratio >= floor)
      expect(ratio).toBeGreaterThanOrEqual(floor)
    }, 300_000)

    test(`${transport} at one in flight adds at most ${ADDED_MS} ms to the median, or ${ADDED_TIMES_DIRECT} direct calls`, async () => {
      const limit = ({ directP50 }: Best): number => Math.max(ADDED_MS, ADDED_TIMES_DIRECT * directP50)
      const seen = await reach(transport, 1, so => so.p50Added <= limit(so))
      expect(seen.p50Added).toBeLessThanOrEqual(limit(seen))
    }, 300_000)

    // This compares processor time, which a busy machine changes least. Ratios of 0.99 to 1.10 were seen.
    test(`${transport} at 16 in flight costs at most 1.15 times as much on the wire of 2026-07-28 as on the older one`, async () => {
      expect(await wireCost(wire => bench.through(transport, 16, SECONDS, wire), 1.15, 2)).toBeLessThanOrEqual(1.15)
    }, 300_000)

    // Ratios of 0.63 to 0.7 were seen: three requests instead of five.
    test(`a whole visit to ${transport} costs less on the wire of 2026-07-28 than on the older one`, async () => {
      expect(await wireCost(wire => bench.visits(transport, 16, SECONDS, wire), 0.99, extent(1, 2))).toBeLessThan(1)
    }, 300_000)

    test(`${transport} serves 256 busy sessions without an error`, async () => {
      const run = await bench.through(transport, 256, extent(1, 2))
      expect(run.firstError).toBeUndefined()
      expect(run.errors).toBe(0)
      expect(run.calls).toBeGreaterThan(256)
    }, 300_000)
  }
})

// Starting servers by tens takes half a minute of both processors.
beyondCore(() =>
  describe('floors of memory', () => {
    test('an empty hub holds at most 115 MB, and each further idle stdio server costs it at most 0.4 MB', async () => {
      // Garbage that is not collected yet counts too: between measurements, an empty hub varies by 0.9 MB and a server by 0.1
      // MB.
      const isHeld = ({ emptyMb, perServerMb }: Memory): boolean => emptyMb <= 115 && perServerMb <= 0.4
      const memory = await tried(() => measureMemory(30, 60), isHeld)
      expect(memory.emptyMb).toBeLessThanOrEqual(115)
      expect(memory.perServerMb).toBeLessThanOrEqual(0.4)
    }, 600_000)
  }),
)

async function tried<T>(run: () => Promise<T>, enough: (result: T) => boolean): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const result = await run()
    if (enough(result) || tries === TRIES) return result
    await Bun.sleep(REST_MS)
  }
}
