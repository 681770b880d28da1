const MOST_KEYS = 20_000

/** Counts by key in windows of time; a key's count begins again with each window. */
export class WindowCounts {
  readonly #windowMs: number
  readonly #counts = new Map<string, { count: number; endsMs: number }>()

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** Adds one, and returns the count of this window. */
  add(key: string): number {
    const now = Date.now()
    const known = this.#counts.get(key)
    if (known && known.endsMs > now) {
      known.count += 1
      return known.count
    }
    this.#counts.delete(key)
    this.#counts.set(key, { count: 1, endsMs: now + this.#windowMs })
    if (this.#counts.size > MOST_KEYS) for (const oldest of this.#counts.keys()) return this.#forget(oldest)
    return 1
  }

  /** The count of the window that runs. */
  of(key: string): number {
    const known = this.#counts.get(key)
    return known && known.endsMs > Date.now() ? known.count : 0
  }

  /** Whole seconds until the window of a key ends, at least 1. */
  secondsLeft(key: string): number {
    const ms = (this.#counts.get(key)?.endsMs ?? 0) - Date.now()
    return Math.max(1, Math.ceil(ms / 1_000))
  }

  #forget(key: string): 1 {
    this.#counts.delete(key)
    return 1
  }
}
