/** Work that is done one after the other for each key. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /** Begins when the work before it has ended, whatever its outcome. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work)
    const over = done.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(key, over)
    try {
      return await done
    } finally {
      await over
      if (this.#last.get(key) === over) this.#last.delete(key)
    }
  }
}
