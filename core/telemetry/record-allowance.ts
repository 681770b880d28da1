/** Records of one source a second, and at once. */
const PER_SECOND = 100
const BURST = 1_000

interface Allowance {
  left: number
  atMs: number
  leftOut: number
  timer: ReturnType<typeof setTimeout> | undefined
}

/**
 * How many records one source may cause, such as a server or a user: 100 a second, after 1,000 at once. The number of those
 * left out is told within a second.
 */
export class RecordAllowance<Source extends { readonly id: string }> {
  readonly #tell: (source: Source, leftOut: number) => void
  readonly #now: () => number
  readonly #allowances = new Map<string, Allowance>()

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(tell: (source: Source, leftOut: number) => void, now: () => number = () => performance.now()) {
    this.#tell = tell
    this.#now = now
  }

  /** Whether a record of this source is written; one that is not is counted. */
  take(source: Source): boolean {
    const allowance = this.#allowance(source.id)
    if (allowance.left >= 1) {
      allowance.left -= 1
      return true
    }
    allowance.leftOut += 1
    allowance.timer ??= setTimeout(() => this.#told(source, allowance), 1_000).unref()
    return false
  }

  /** The source is gone. */
  forget(id: string): void {
    clearTimeout(this.#allowances.get(id)?.timer)
    this.#allowances.delete(id)
  }

  #allowance(id: string): Allowance {
    const ms = this.#now()
    const known = this.#allowances.get(id)
    if (known) {
      known.left = Math.min(BURST, known.left + ((ms - known.atMs) / 1_000) * PER_SECOND)
      known.atMs = ms
      return known
    }
    const made: Allowance = { left: BURST, atMs: ms, leftOut: 0, timer: undefined }
    this.#allowances.set(id, made)
    return made
  }

  #told(source: Source, allowance: Allowance): void {
    const { leftOut } = allowance
    allowance.timer = undefined
    allowance.leftOut = 0
    this.#tell(source, leftOut)
  }
}
