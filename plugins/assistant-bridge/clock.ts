/** Time and chance, which tests set. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number
  /** Returns the time in ISO 8601 UTC, now or this many milliseconds later. */
  time(laterMs?: number): string
  /** Runs it later, unless the returned function is called before. */
  after(ms: number, work: () => void): () => void
  /** From 0 to 1. */
  random(): number
}

/** The machine's own. */
export const CLOCK: Clock = {
  now: () => performance.now(),
  time: (laterMs = 0) => new Date(Date.now() + laterMs).toISOString(),
  after(ms, work) {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}
