const SLOW_MS = 2_000

/**
 * Limits how many servers start at the same time. A start releases its slot when it has finished, or after 2 s, so that
 * a hanging server delays only itself. Owners get slots in rotation, so that one with 200 hanging servers does not
 * block the others.
 */
export class StartSlots {
  readonly #size: number
  /** Queued starts by owner; the owner whose turn it is comes first. */
  readonly #waiting = new Map<string, ((slot: () => void) => void)[]>()
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Resolves with the function that releases the slot; calling it twice is harmless. */
  acquire(ownerId: string): Promise<() => void> {
    return new Promise(resolve => {
      const line = this.#waiting.get(ownerId)
      if (line) line.push(resolve)
      else this.#waiting.set(ownerId, [resolve])
      this.#next()
    })
  }

  #next(): void {
    if (this.#taken >= this.#size) return
    const resolve = this.#nextInTurn()
    if (!resolve) return
    this.#taken += 1
    let held = true
    const release = (): void => {
      if (!held) return
      held = false
      clearTimeout(timer)
      this.#taken -= 1
      this.#next()
    }
    const timer = setTimeout(release, SLOW_MS)
    resolve(release)
  }

  #nextInTurn(): ((slot: () => void) => void) | undefined {
    for (const [ownerId, line] of this.#waiting) {
      const first = line.shift()
      // Moves this owner behind the others, if it has more queued starts.
      this.#waiting.delete(ownerId)
      if (line.length > 0) this.#waiting.set(ownerId, line)
      return first
    }
    return undefined
  }
}
