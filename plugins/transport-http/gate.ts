/** Holds messages back and lets them go in order. Open at first. */
export class Gate {
  #waiting: (() => void)[] | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Takes the message where it must wait; false: it may go. */
  holds(send: () => void): boolean {
    this.#waiting?.push(send)
    return this.#waiting !== undefined
  }

  close(): void {
    this.#waiting ??= []
  }

  /** Opens by itself after `ms`, unless that comes earlier. */
  openWithin(ms: number): void {
    this.#timer = setTimeout(() => this.open(), ms)
  }

  open(): void {
    clearTimeout(this.#timer)
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const send of waiting) send()
  }
}
