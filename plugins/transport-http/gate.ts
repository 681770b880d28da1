/** Queues messages and sends them in order. Open at first. */
export class Gate {
  #waiting: (() => void)[] | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Queues the message while the gate is closed; false: it can be sent. */
  holds(send: () => void): boolean {
    this.#waiting?.push(send)
    return this.#waiting !== undefined
  }

  close(): void {
    this.#waiting ??= []
  }

  /** Opens after `ms` at the latest. */
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
