import { availableParallelism, loadavg } from 'node:os'

/** The variable that says how many runs of tests there are at the same time. */
export const SIDE_BY_SIDE = 'TESTS_SIDE_BY_SIDE'

/** What {@link sample} takes on a machine for which the limits of the tests are written, in milliseconds. */
const SAMPLE_MS = 1.2
/** How long a measure of the machine holds. */
const FRESH_MS = 20_000
const TEXT = JSON.stringify(Array.from({ length: 2_000 }, (_, index) => ({ [`key${index}`]: `value ${index}` })))
const known = { untilMs: 0, times: 1 }

/** Work that is the same on every machine and short enough to be left alone in one of some tries. */
function sample(): number {
  const start = performance.now()
  JSON.stringify(JSON.parse(TEXT))
  return performance.now() - start
}

/** How many times slower one processor of this machine is than wanted, at least 1. A measure holds for a while, since it is asked for often. */
function slowerTimes(): number {
  const now = performance.now()
  if (now < known.untilMs) return known.times
  sample()
  known.times = Math.max(1, Math.min(...Array.from({ length: 5 }, sample)) / SAMPLE_MS)
  known.untilMs = now + FRESH_MS
  return known.times
}

/**
 * A limit for what was measured just now: `ms` where the machine has its processors to itself, more in the measure in which
 * more programs than processors wanted to run in the last minute, or other tests run beside this one, and in which a processor
 * is slower than wanted. A test whose limit nothing else can reach for says by it what a person on an idle machine would see.
 */
export function atMost(ms: number): number {
  // The load of a run that has just begun does not show yet.
  const wanting = Math.max(loadavg()[0] ?? 0, Number(process.env[SIDE_BY_SIDE] ?? 1))
  return ms * Math.max(1, (1.5 * wanting) / availableParallelism()) * slowerTimes()
}

/** A machine that is three times slower, with three runs of tests side by side on two processors, takes seven times as long. */
const MOST_TIMES = 8

/**
 * A limit of time that a test gives the product and that slowness alone must not reach, in whole milliseconds: `ms` where
 * {@link atMost} allows no more, and eight times that at most, since the test lasts as long.
 */
export function atLeast(ms: number): number {
  return Math.ceil(Math.min(atMost(ms), MOST_TIMES * ms))
}
