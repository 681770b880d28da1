import { type Holder, HolderShares, type SharedLimits } from './holder-shares.ts'

interface Entry<T> {
  readonly item: T
  readonly bytes: number
}

/**
 * A bounded queue with shares: when it is full, the holder of the most loses its oldest items. Each holder's items keep their
 * order.
 */
export class SharedQueue<T> {
  readonly #shares: HolderShares
  readonly #held = new Map<Holder, Entry<T>[]>()
  readonly #dropped: (item: T, holder: string) => void

  /** `dropped` is called with each item that is dropped for lack of room. */
  constructor(limits: SharedLimits, dropped: (item: T, holder: string) => void = () => undefined) {
    this.#shares = new HolderShares(limits)
    this.#dropped = dropped
  }

  get count(): number {
    return this.#shares.count
  }

  /** The items of all holders; only those of one holder are in order. */
  *items(): Generator<T> {
    for (const entries of this.#held.values()) for (const { item } of entries) yield item
  }

  add(holderId: string, item: T, bytes: number): void {
    const holder = this.#shares.of(holderId)
    const entries = this.#held.get(holder)
    if (entries) entries.push({ item, bytes })
    else this.#held.set(holder, [{ item, bytes }])
    this.#shares.add(holder, bytes)
    while (this.#shares.isOver) {
      const largest = this.#shares.largest()
      if (!largest) return
      largest.dropped += 1
      this.#dropOldest(largest)
    }
  }

  /** Drops the oldest items of every holder as long as `isOld`. */
  dropWhile(isOld: (item: T) => boolean): void {
    for (const [holder, entries] of this.#held) {
      for (let [oldest] = entries; oldest && isOld(oldest.item); [oldest] = entries) this.#dropOldest(holder)
    }
  }

  clear(): void {
    for (const [holder, entries] of this.#held) for (const { bytes } of entries) this.#shares.remove(holder, bytes)
    this.#held.clear()
  }

  #dropOldest(holder: Holder): void {
    const entries = this.#held.get(holder)
    const oldest = entries?.shift()
    if (!oldest) return
    if (entries?.length === 0) this.#held.delete(holder)
    this.#shares.remove(holder, oldest.bytes)
    this.#dropped(oldest.item, holder.id)
  }
}
