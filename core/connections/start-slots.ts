const SLOW_MS = 2_000

/**
 * Bounds how many servers start at the same moment. A start gives its place back when it is through, or after two
 * seconds: one that hangs keeps its own deadline and nobody else's place.
 */
export class StartSlots {
  readonly #size: number
  readonly #waiting: ((slot: () => void) => void)[] = []
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Resolves with the function that gives the place back; calling it twice is harmless. */
  acquire(): Promise<() => void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      this.#next()
    })
  }

  #next(): void {
    if (this.#taken >= this.#size) return
    const resolve = this.#waiting.shift()
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
}
