import { atMost } from './pace.ts'

/**
 * Longest limit on a busy machine: it ends before the test's own timeout, whose error does not name the awaited condition, and
 * after which the runner kills processes that later tests need.
 */
const LONGEST_MS = 90_000

export interface UntilOptions {
  /** Default 20_000: it limits a hang, and is not a measure of speed. */
  readonly timeoutMs?: number
  /** Pause between two looks. Default 20. */
  readonly intervalMs?: number
  /** Name of the awaited condition, for the error. */
  readonly what?: string
}

/**
 * Waits until the condition returns a truthy value, and returns that. An error that the condition throws counts as "not yet" and
 * is the cause of the error at the time limit.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: UntilOptions = {},
): Promise<Exclude<Awaited<T>, undefined | null | false | 0 | ''>> {
  const { timeoutMs = 20_000, intervalMs = 20, what = 'the condition' } = options
  const deadline = performance.now() + Math.min(atMost(timeoutMs), Math.max(timeoutMs, LONGEST_MS))
  let last: unknown
  for (;;) {
    try {
      last = undefined
      const value = await condition()
      if (value) return value as Exclude<Awaited<T>, undefined | null | false | 0 | ''>
    } catch (error) {
      last = error
    }
    if (performance.now() >= deadline) {
      throw new Error(`Waited ${timeoutMs} ms for ${what}${last instanceof Error ? `: ${last.message}` : ''}`, {
        cause: last,
      })
    }
    await new Promise(resolve => setTimeout(resolve, intervalMs))
  }
}

/** Runs the work and returns its duration in milliseconds with its result. */
export async function timed<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const start = performance.now()
  const value = await work()
  return { value, ms: performance.now() - start }
}

/** The least of three measurements: a promise about time is not broken by a machine that was busy with something else. */
export async function least(measure: () => Promise<number>): Promise<number> {
  const measured: number[] = []
  for (let round = 0; round < 3; round += 1) measured.push(await measure())
  return Math.min(...measured)
}
