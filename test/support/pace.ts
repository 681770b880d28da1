import { availableParallelism, loadavg } from 'node:os'

/** The variable that says how many runs of tests there are at the same time. */
export const SIDE_BY_SIDE = 'TESTS_SIDE_BY_SIDE'

/**
 * A limit for what was measured just now: `ms` where the machine has its processors to itself, more in the measure in which
 * more programs than processors wanted to run in the last minute, or other tests run beside this one. A test whose limit
 * nothing else can reach for says by it what a person on an idle machine would see.
 */
export function atMost(ms: number): number {
  // The load of a run that has just begun does not show yet.
  const wanting = Math.max(loadavg()[0] ?? 0, Number(process.env[SIDE_BY_SIDE] ?? 1))
  return ms * Math.max(1, (1.5 * wanting) / availableParallelism())
}
