/** A queue that takes one item from each sender in turn, however many items one of them has queued. */
export class FairQueue<T> {
  /** In the order of turns. A sender without items is not included. */
  readonly #bySender = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Number of queued items of this sender. */
  waiting(sender: string): number {
    return this.#bySender.get(sender)?.length ?? 0
  }

  push(sender: string, item: T): void {
    this.#size += 1
    const items = this.#bySender.get(sender)
    if (items) items.push(item)
    else this.#bySender.set(sender, [item])
  }

  /** Removes the oldest item of the next sender; undefined when the queue is empty. */
  shift(): T | undefined {
    for (const [sender, items] of this.#bySender) {
      const item = items.shift()
      this.#size -= 1
      // Moved behind the other senders.
      this.#bySender.delete(sender)
      if (items.length > 0) this.#bySender.set(sender, items)
      return item
    }
    return undefined
  }
}

/**
 * Queues work that takes milliseconds: one item per turn of the event loop, or `perTurn` shorter ones, round-robin by owner,
 * so that neither requests nor other owners' work wait for one owner's.
 */
export class FairTurns {
  readonly #queue = new FairQueue<() => void>()
  readonly #perTurn: number
  #running = false

  constructor(perTurn = 1) {
    this.#perTurn = perTurn
  }

  add(ownerId: string, work: () => void): void {
    this.#queue.push(ownerId, work)
    if (this.#running) return
    this.#running = true
    setImmediate(() => this.#next())
  }

  #next(): void {
    this.#running = this.#queue.size > 0
    if (!this.#running) return
    setImmediate(() => this.#next())
    for (let left = this.#perTurn; left > 0; left -= 1) this.#queue.shift()?.()
  }
}
