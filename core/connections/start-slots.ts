const SLOW_MS = 2_000
/** Longest pause of a caller after a start. */
const MOST_REST_MS = 250

/** Starts on behalf of the same user, in the order in which they were requested. */
interface Line {
  readonly waiting: ((slot: () => void) => void)[]
  readonly atOnce: number
  /** Starts in progress, and pauses after them. */
  busy: number
}

/** Limits of starts besides the number of slots. */
export interface StartPace {
  /** Starts of this line at the same time; default: as many as there are slots. Each is followed by a pause. */
  readonly atOnce?: number
}

/**
 * Limits how many servers start at the same time. A start releases its slot when it has finished, or after 2 s, so that
 * a hanging server delays only itself. Users get slots in rotation, so that one with 200 hanging servers does not
 * block the others.
 */
export class StartSlots {
  readonly #size: number
  /** The line whose turn it is comes first. */
  readonly #lines = new Map<string, Line>()
  #taken = 0

  constructor(size: number) {
    this.#size = size
  }

  /**
   * Resolves with the function that releases the slot; calling it twice is harmless. With `atOnce`, a start is followed by
   * a pause as long as itself, at most 250 ms: the processors are half free for others, however many starts wait.
   */
  acquire(userId: string, { atOnce }: StartPace = {}): Promise<() => void> {
    // A user's own servers do not wait behind the paced starts of the same user.
    const key = atOnce === undefined ? userId : `paced ${userId}`
    return new Promise(resolve => {
      const line = this.#lines.get(key) ?? { waiting: [], atOnce: atOnce ?? this.#size, busy: 0 }
      line.waiting.push(resolve)
      this.#lines.set(key, line)
      this.#next()
    })
  }

  #next(): void {
    if (this.#taken >= this.#size) return
    const found = this.#lineInTurn()
    const resolve = found?.[1].waiting.shift()
    if (!found || !resolve) return
    const [key, line] = found
    // Moves this line behind the others.
    this.#lines.delete(key)
    this.#lines.set(key, line)
    this.#taken += 1
    line.busy += 1
    const sinceMs = performance.now()
    let held = true
    const release = (): void => {
      if (!held) return
      held = false
      clearTimeout(timer)
      this.#taken -= 1
      if (line.atOnce >= this.#size) this.#leave(key, line)
      else setTimeout(() => this.#leave(key, line), Math.min(performance.now() - sinceMs, MOST_REST_MS))
      this.#next()
    }
    const timer = setTimeout(release, SLOW_MS)
    resolve(release)
  }

  #leave(key: string, line: Line): void {
    line.busy -= 1
    if (line.busy === 0 && line.waiting.length === 0 && this.#lines.get(key) === line) this.#lines.delete(key)
    this.#next()
  }

  #lineInTurn(): readonly [string, Line] | undefined {
    for (const entry of this.#lines) {
      const [, { waiting, busy, atOnce }] = entry
      if (waiting.length > 0 && busy < atOnce) return entry
    }
    return undefined
  }
}
