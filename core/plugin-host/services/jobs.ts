import type { PluginJobs } from '../../contract/kept.ts'
import type { PluginLogger } from '../../contract/plugin.ts'

const SHORTEST_MS = 1_000
const LONGEST_MS = 2_147_483_647
const MOST_PERIODIC = 16
const MOST_ONCE = 64

/** The jobs of one plugin, which end with `signal`. */
export class Jobs implements PluginJobs {
  readonly #log: Pick<PluginLogger, 'error'>
  readonly #signal: AbortSignal
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  readonly #running = new Set<Promise<unknown>>()
  readonly #once = new Map<string, Promise<unknown>>()
  #periodic = 0
  #failed = 0

  constructor(log: Pick<PluginLogger, 'error'>, signal: AbortSignal) {
    this.#log = log
    this.#signal = signal
    signal.addEventListener('abort', () => {
      for (const timer of this.#timers) clearTimeout(timer)
      this.#timers.clear()
    })
  }

  /** Jobs that threw. */
  get failed(): number {
    return this.#failed
  }

  every(ms: number, work: (signal: AbortSignal) => Promise<void>): void {
    if (!(ms >= SHORTEST_MS && ms <= LONGEST_MS))
      throw new RangeError(`A job runs every ${SHORTEST_MS} to ${LONGEST_MS} ms, and not every ${ms}`)
    this.#signal.throwIfAborted()
    if (this.#periodic >= MOST_PERIODIC) throw new RangeError(`A plugin has at most ${MOST_PERIODIC} periodic jobs`)
    this.#periodic += 1
    const next = (): void => {
      if (this.#signal.aborted) return
      const timer = setTimeout(() => {
        this.#timers.delete(timer)
        void this.#run(work).then(next, next)
      }, ms)
      timer.unref?.()
      this.#timers.add(timer)
    }
    next()
  }

  once<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#signal.aborted) return Promise.reject(this.#signal.reason)
    const known = this.#once.get(key)
    if (known !== undefined) return known as Promise<T>
    if (this.#once.size >= MOST_ONCE)
      return Promise.reject(new RangeError(`A plugin has at most ${MOST_ONCE} jobs at once`))
    const running = this.#run(work).finally(() => this.#once.delete(key))
    this.#once.set(key, running)
    return running
  }

  /** Resolves once no job runs any more. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#running])
  }

  async #run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    // In a later turn, so that work that throws at once rejects as well.
    const running = Promise.resolve().then(() => work(this.#signal))
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      this.#failed += 1
      if (!this.#signal.aborted)
        this.#log.error(`A job of the plugin failed: ${error instanceof Error ? error.message : String(error)}`)
      throw error
    } finally {
      this.#running.delete(running)
    }
  }
}
