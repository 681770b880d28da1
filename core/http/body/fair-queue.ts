/** A queue that takes one item from each sender in turn, however many items one of them has queued. */
export class FairQueue<T> {
  /** In the order of turns. A sender without items is not included. */
  readonly #bySender = new Map<string, T[]>()

  get size(): number {
    let size = 0
    for (const items of this.#bySender.values()) size += items.length
    return size
  }

  /** How many items of this sender are queued. */
  waiting(sender: string): number {
    return this.#bySender.get(sender)?.length ?? 0
  }

  push(sender: string, item: T): void {
    const items = this.#bySender.get(sender)
    if (items) items.push(item)
    else this.#bySender.set(sender, [item])
  }

  /** Removes the oldest item of the next sender; undefined when the queue is empty. */
  shift(): T | undefined {
    for (const [sender, items] of this.#bySender) {
      const item = items.shift()
      // Moved behind the other senders.
      this.#bySender.delete(sender)
      if (items.length > 0) this.#bySender.set(sender, items)
      return item
    }
    return undefined
  }
}
