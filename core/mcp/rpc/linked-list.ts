/** An item of a linked list; it can be in one list at a time. */
export interface LinkedNode<Item> {
  chainBefore: Item | undefined
  chainAfter: Item | undefined
}

/**
 * Items in insertion order, each linked to its neighbours. For items that are added and removed with every call: a Set
 * rebuilds its table every few changes, and costs six times as much, most of it in the garbage collector.
 */
export class LinkedList<Item extends LinkedNode<Item>> implements Iterable<Item> {
  #first: Item | undefined
  #last: Item | undefined

  /** The oldest item. */
  get first(): Item | undefined {
    return this.#first
  }

  /** Appends an item that is in no list. */
  add(item: Item): void {
    const last = this.#last
    item.chainBefore = last
    if (last) last.chainAfter = item
    else this.#first = item
    this.#last = item
  }

  /** Has no effect on an item that is in no list. */
  delete(item: Item): void {
    if (!this.#has(item)) return
    const { chainBefore: before, chainAfter: after } = item
    if (before) before.chainAfter = after
    else this.#first = after
    if (after) after.chainBefore = before
    else this.#last = before
    item.chainBefore = undefined
    item.chainAfter = undefined
  }

  /** Iterates over a snapshot; an item that is deleted before its turn is skipped. */
  *[Symbol.iterator](): Generator<Item, undefined> {
    const items: Item[] = []
    for (let item = this.#first; item; item = item.chainAfter) items.push(item)
    for (const item of items) if (this.#has(item)) yield item
  }

  #has(item: Item): boolean {
    return item.chainBefore !== undefined || item.chainAfter !== undefined || this.#first === item
  }
}
