/** Number of parts of a wait: on few processors each timer is late, and so is the awaited event. */
const PARTS = 10

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

  /** Opens after `ms` at the latest, or later on a machine that is overloaded. */
  openWithin(ms: number): void {
    this.#wait(ms / PARTS, PARTS)
  }

  #wait(partMs: number, parts: number): void {
    this.#timer = setTimeout(() => (parts > 1 ? this.#wait(partMs, parts - 1) : this.open()), partMs)
  }

  open(): void {
    clearTimeout(this.#timer)
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const send of waiting) send()
  }
}
