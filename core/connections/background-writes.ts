import type { PluginLogger } from '../contract/plugin.ts'

/** Writes of what can be found out again: nobody waits for them, and one that fails costs a warning. */
export class BackgroundWrites {
  readonly #log: PluginLogger
  readonly #what: string
  readonly #writing = new Set<Promise<void>>()

  /** `what` names in the warning what could not be stored. */
  constructor(log: PluginLogger, what: string) {
    this.#log = log
    this.#what = what
  }

  add(work: Promise<unknown>): void {
    const writing = work.then(
      () => undefined,
      (error: unknown) => this.#log.warn(`${this.#what} could not be stored`, { error: String(error) }),
    )
    this.#writing.add(writing)
    void writing.then(() => this.#writing.delete(writing))
  }

  /** Resolves when all that was added is written. */
  async flush(): Promise<void> {
    await Promise.all(this.#writing)
  }
}
