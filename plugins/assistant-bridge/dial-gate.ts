/** Connections that are opened at the same time, over all endpoints. */
const AT_ONCE = 4

/** Lets few links connect at once, in the order in which they were queued. */
export class DialGate {
  readonly #waiting: (() => void)[] = []
  #inside = 0

  /** Resolves when it may dial, with what ends its turn. */
  async enter(): Promise<() => void> {
    if (this.#inside >= AT_ONCE) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#inside += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const next = this.#waiting.shift()
      if (next) next()
      else this.#inside -= 1
    }
  }
}
