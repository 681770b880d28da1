/** What can stand in a chain; in one at a time. */
export interface LinkedNode<Item> {
  chainBefore: Item | undefined
  chainAfter: Item | undefined
}

/**
 * Things in the order in which they came, each linked to its neighbours. For what comes and goes with every call: a Set
 * makes a new table every few changes, and costs six times as much, most of it in the garbage collector.
 */
export class LinkedList<Item extends LinkedNode<Item>> implements Iterable<Item> {
  #first: Item | undefined
  #last: Item | undefined

  /** What was added before all others. */
  get first(): Item | undefined {
    return this.#first
  }

  /** Puts at the end what is in no chain. */
  add(item: Item): void {
    const last = this.#last
    item.chainBefore = last
    if (last) last.chainAfter = item
    else this.#first = item
    this.#last = item
  }

  /** Without effect on what is in no chain. */
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

  /** Those that are here now; whoever leaves before its turn does not come. */
  *[Symbol.iterator](): Generator<Item, undefined> {
    const items: Item[] = []
    for (let item = this.#first; item; item = item.chainAfter) items.push(item)
    for (const item of items) if (this.#has(item)) yield item
  }

  #has(item: Item): boolean {
    return item.chainBefore !== undefined || item.chainAfter !== undefined || this.#first === item
  }
}
