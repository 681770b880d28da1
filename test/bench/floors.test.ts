import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Bench } from './measure.ts'
import { measureMemory } from './memory.ts'
import { alternate, best, bothWires } from './rounds.ts'

const ROUNDS = 3
const SECONDS = 0.8
/** What the hub may add to one call, in milliseconds, or in times of a direct call where the machine is slow just now. */
const ADDED_MS = 0.25
const ADDED_TIMES_DIRECT = 4

describe('floors of the call path', () => {
  let bench: Bench

  beforeAll(async () => {
    bench = await Bench.start()
  }, 60_000)

  afterAll(async () => {
    await bench?.stop()
  }, 40_000)

  for (const [transport, floor] of [
    // What short rounds on a shared machine can tell: the code of one day was seen at 0.20 to 0.36 and at 0.15 to 0.33. The
    // goals, 0.30 and 0.25, are measured by `bun run bench` on a quiet machine.
    ['stdio', 0.14],
    ['http', 0.11],
  ] as const) {
    // Both against the raw HTTP server, the faster of the two ways that 16 clients have without the hub: a child for each of
    // them makes about half as many calls.
    test(`${transport} at 16 in flight reaches ${floor} of the direct calls per second without an error`, async () => {
      const rounds = await alternate(bench, transport, 16, ROUNDS, SECONDS, 'http')
      expect(rounds.flatMap(round => round.hub.firstError ?? [])).toEqual([])
      expect(best(rounds).ratio).toBeGreaterThanOrEqual(floor)
    }, 60_000)

    test(`${transport} at one in flight adds at most ${ADDED_MS} ms to the median, or ${ADDED_TIMES_DIRECT} direct calls`, async () => {
      const { p50Added, directP50 } = best(await alternate(bench, transport, 1, ROUNDS, SECONDS))
      expect(p50Added).toBeLessThanOrEqual(Math.max(ADDED_MS, ADDED_TIMES_DIRECT * directP50))
    }, 60_000)

    // Of processor time, which a busy machine moves least; seen at 0.99 to 1.10.
    test(`${transport} at 16 in flight costs at most 1.15 times as much on the wire of 2026-07-28 as on the older one`, async () => {
      const rounds = await bothWires(4, wire => bench.through(transport, 16, SECONDS, wire))
      expect(rounds.flatMap(round => round.legacy.firstError ?? round.modern.firstError ?? [])).toEqual([])
      const least = (wire: 'legacy' | 'modern'): number => Math.min(...rounds.map(round => round[wire].cpuMicros))
      expect(least('modern') / least('legacy')).toBeLessThanOrEqual(1.15)
    }, 60_000)

    // Seen at 0.63 to 0.7 of it: three requests in place of five.
    test(`a whole visit to ${transport} costs less on the wire of 2026-07-28 than on the older one`, async () => {
      const rounds = await bothWires(2, wire => bench.visits(transport, 16, SECONDS, wire))
      expect(rounds.flatMap(round => round.legacy.firstError ?? round.modern.firstError ?? [])).toEqual([])
      const least = (wire: 'legacy' | 'modern'): number => Math.min(...rounds.map(round => round[wire].cpuMicros))
      expect(least('modern')).toBeLessThan(least('legacy'))
    }, 60_000)

    test(`${transport} serves 256 busy sessions without an error`, async () => {
      const run = await bench.through(transport, 256, 2)
      expect(run.firstError).toBeUndefined()
      expect(run.errors).toBe(0)
      expect(run.calls).toBeGreaterThan(256)
    }, 60_000)
  }
})

describe('floors of memory', () => {
  test('an empty hub holds at most 100 MB, and each further idle stdio server costs it at most 0.4 MB', async () => {
    const memory = await measureMemory()
    expect(memory.emptyMb).toBeLessThanOrEqual(100)
    expect(memory.perServerMb).toBeLessThanOrEqual(0.4)
  }, 120_000)
})
