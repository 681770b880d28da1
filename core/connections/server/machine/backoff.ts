const FIRST_MS = 1_000
const LONGEST_MS = 60_000
const CRASH_WINDOW_MS = 60_000
const CRASHES = 5

/** Full jitter over a delay that doubles from 1 s to 60 s, so that servers do not reconnect all together. */
export function backoffMs(failures: number, random: () => number): number {
  return Math.round(random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10)))
}

/** Counts events within the last minute. */
export class RecentCount {
  readonly #times: number[] = []

  /** Returns the count, including this event. */
  add(nowMs: number): number {
    this.#times.push(nowMs)
    return this.count(nowMs)
  }

  count(nowMs: number): number {
    while (this.#times.length > 0 && nowMs - this.#times[0]! > CRASH_WINDOW_MS) this.#times.shift()
    return this.#times.length
  }

  clear(): void {
    this.#times.length = 0
  }
}

/** True when a process that exited `exits` times within a minute should not be restarted quickly. */
export function isCrashLoop(exits: number): boolean {
  return exits >= CRASHES
}
