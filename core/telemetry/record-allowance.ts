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
 * Limits the records that one source, such as a server or a user, may cause: 100 a second, after 1,000 at once. The number of
 * omitted records is reported within a second.
 */
export class RecordAllowance<Source extends { readonly id: string }> {
  readonly #report: (source: Source, leftOut: number) => void
  readonly #now: () => number
  readonly #allowances = new Map<string, Allowance>()

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(report: (source: Source, leftOut: number) => void, now: () => number = () => performance.now()) {
    this.#report = report
    this.#now = now
  }

  /** True when a record of this source may be written; otherwise it is counted as omitted. */
  take(source: Source): boolean {
    const allowance = this.#allowance(source.id)
    if (allowance.left >= 1) {
      allowance.left -= 1
      return true
    }
    allowance.leftOut += 1
    allowance.timer ??= setTimeout(() => this.#reportLeftOut(source, allowance), 1_000).unref()
    return false
  }

  /** Forgets a source that was removed. */
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

  #reportLeftOut(source: Source, allowance: Allowance): void {
    const { leftOut } = allowance
    allowance.timer = undefined
    allowance.leftOut = 0
    this.#report(source, leftOut)
  }
}
