/** A use is recorded at most this often for each record, in milliseconds. */
const TOUCH_MS = 60_000
/** Uses are collected for this long before they are written, in milliseconds. */
const FLUSH_MS = 2_000

/** When records were used last, written together and not with each use. */
export class UseTimes {
  readonly #write: (uses: readonly (readonly [id: string, at: string])[]) => Promise<void>
  readonly #now: () => Date
  readonly #touched = new Map<string, number>()
  readonly #pending = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined

  /** `write` stores times of ISO 8601 UTC; a time that it fails to store is lost until the next use. */
  constructor(write: (uses: readonly (readonly [id: string, at: string])[]) => Promise<void>, now = () => new Date()) {
    this.#write = write
    this.#now = now
  }

  touch(id: string): void {
    const at = this.#now()
    if (at.getTime() - (this.#touched.get(id) ?? Number.NEGATIVE_INFINITY) < TOUCH_MS) return
    this.#touched.set(id, at.getTime())
    this.#pending.set(id, at.toISOString())
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // Only the shown time of use is lost, until the next use.
      this.flush().catch(() => undefined)
    }, FLUSH_MS).unref()
  }

  forget(id: string): void {
    this.#touched.delete(id)
    this.#pending.delete(id)
  }

  /** Writes collected uses. */
  async flush(): Promise<void> {
    const uses = [...this.#pending]
    this.#pending.clear()
    // Older entries no longer suppress a write; they include removed records.
    const old = this.#now().getTime() - TOUCH_MS
    for (const [id, atMs] of this.#touched) if (atMs <= old) this.#touched.delete(id)
    if (uses.length > 0) await this.#write(uses)
  }

  /** Stops the timer, and writes the remaining times. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.flush()
  }
}
