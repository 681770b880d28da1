import type { Clock } from '../../plugins/assistant-bridge/clock.ts'

/** A clock that advances only on request. */
export class ManualClock implements Clock {
  ms = 0
  /** Result of `random`. */
  chance: () => number = () => 1
  readonly #timers = new Map<number, { readonly atMs: number; readonly work: () => void }>()
  #made = 0

  now = (): number => this.ms
  time = (laterMs = 0): string => new Date(this.ms + laterMs).toISOString()
  random = (): number => this.chance()

  after = (ms: number, work: () => void): (() => void) => {
    this.#made += 1
    const id = this.#made
    this.#timers.set(id, { atMs: this.ms + ms, work })
    return () => this.#timers.delete(id)
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.ms + ms
    for (;;) {
      await settled()
      const [next] = [...this.#timers].filter(([, { atMs }]) => atMs <= endMs).sort((a, b) => a[1].atMs - b[1].atMs)
      if (!next) break
      this.#timers.delete(next[0])
      this.ms = Math.max(this.ms, next[1].atMs)
      next[1].work()
    }
    this.ms = endMs
    await settled()
  }
}

/** Resolves after all pending work that needs no time. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 60; turn += 1) await Promise.resolve()
}
