import { availableParallelism, loadavg } from 'node:os'

/** The variable with the number of test runs at the same time. */
export const SIDE_BY_SIDE = 'TESTS_SIDE_BY_SIDE'

/** Duration of {@link sample} on a machine for which the limits of the tests are written, in milliseconds. */
const SAMPLE_MS = 1.2
/** Time for which a measurement of the machine is valid, in milliseconds. */
const FRESH_MS = 20_000
const TEXT = JSON.stringify(Array.from({ length: 2_000 }, (_, index) => ({ [`key${index}`]: `value ${index}` })))
const known = { untilMs: 0, times: 1 }

/** Work that is the same on every machine and short enough to be left alone in one of some tries. */
function sample(): number {
  const start = performance.now()
  JSON.stringify(JSON.parse(TEXT))
  return performance.now() - start
}

/**
 * Factor by which one processor of this machine is slower than wanted, at least 1. A measurement is cached, since it is
 * requested often.
 */
function slowerTimes(): number {
  const now = performance.now()
  if (now < known.untilMs) return known.times
  sample()
  known.times = Math.max(1, Math.min(...Array.from({ length: 5 }, sample)) / SAMPLE_MS)
  known.untilMs = now + FRESH_MS
  return known.times
}

/**
 * A limit for a measurement: `ms` if the machine's processors are free; larger in proportion to the number of programs that
 * wanted to run in the last minute, or to other tests at the same time, and to the slowness of a processor. For tests whose
 * limit only such disturbances can exceed, it states what a person on an idle machine would see.
 */
export function atMost(ms: number): number {
  // The load of a run that has just begun does not show yet.
  const wanting = Math.max(loadavg()[0] ?? 0, Number(process.env[SIDE_BY_SIDE] ?? 1))
  return ms * Math.max(1, (1.5 * wanting) / availableParallelism()) * slowerTimes()
}

/** A machine that is three times slower, with three test runs at the same time on two processors, takes seven times as long. */
const MOST_TIMES = 8

/**
 * A time limit that a test gives the product and that slowness alone must not reach, in whole milliseconds: `ms` if {@link
 * atMost} allows no more, and at most eight times that, since the test lasts as long.
 */
export function atLeast(ms: number): number {
  return Math.ceil(Math.min(atMost(ms), MOST_TIMES * ms))
}
