/**
 * Reports what repeats at most once in `everyMs`: the first at once, and those that follow together, with their number and the text
 * of the last one.
 */
export class GatheredNotices {
  readonly #report: (text: string, count: number) => void
  readonly #everyMs: number
  #count = 0
  #last = ''
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `everyMs`: default 1,000. */
  constructor(report: (text: string, count: number) => void, everyMs = 1_000) {
    this.#report = report
    this.#everyMs = everyMs
  }

  /** `count`: number of events reported with this text. */
  add(text: string, count = 1): void {
    this.#count += count
    this.#last = text
    if (this.#timer === undefined) this.#reportNow()
  }

  /** Reports what waits. Later notices are still accepted. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#count === 0) return
    const count = this.#count
    this.#count = 0
    this.#report(this.#last, count)
  }

  #reportNow(): void {
    this.flush()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#count > 0) this.#reportNow()
    }, this.#everyMs)
    this.#timer.unref?.()
  }
}
