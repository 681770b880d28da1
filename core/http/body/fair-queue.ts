/** Items of many senders, taken in turns: one from each sender that has any, however many another one has put in. */
export class FairQueue<T> {
  /** In the order of their turns. A sender without items is not in it. */
  readonly #bySender = new Map<string, T[]>()

  get size(): number {
    let size = 0
    for (const items of this.#bySender.values()) size += items.length
    return size
  }

  /** How many items of this sender wait. */
  waiting(sender: string): number {
    return this.#bySender.get(sender)?.length ?? 0
  }

  push(sender: string, item: T): void {
    const items = this.#bySender.get(sender)
    if (items) items.push(item)
    else this.#bySender.set(sender, [item])
  }

  /** The oldest item of the sender whose turn it is; undefined when nothing waits. */
  shift(): T | undefined {
    for (const [sender, items] of this.#bySender) {
      const item = items.shift()
      // Behind the others.
      this.#bySender.delete(sender)
      if (items.length > 0) this.#bySender.set(sender, items)
      return item
    }
    return undefined
  }
}
