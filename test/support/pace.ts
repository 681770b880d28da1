import { availableParallelism, loadavg } from 'node:os'

/**
 * A limit for what was measured just now: `ms` where the machine has its processors to itself, more in the measure in which
 * more programs than processors wanted to run in the last minute. A test whose limit nothing else can reach for says by it
 * what a person on an idle machine would see.
 */
export function atMost(ms: number): number {
  const waiting = (loadavg()[0] ?? 0) / availableParallelism()
  return ms * Math.max(1, 1.5 * waiting)
}
