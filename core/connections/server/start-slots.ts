const SLOW_MS = 2_000

/**
 * Bounds how many servers start at the same moment. A start gives its place back when it is through, or after two
 * seconds: one that hangs keeps its own deadline and nobody else's place. Owners get places by turns, so that somebody with
 * two hundred servers that hang does not stand before everybody else.
 */
export class StartSlots {
  readonly #size: number
  /** Those that wait, by owner; the owner whose turn it is comes first. */
  readonly #waiting = new Map<string, ((slot: () => void) => void)[]>()
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Resolves with the function that gives the place back; calling it twice is harmless. */
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
      // Behind the others, if anything of this owner is left.
      this.#waiting.delete(ownerId)
      if (line.length > 0) this.#waiting.set(ownerId, line)
      return first
    }
    return undefined
  }
}
