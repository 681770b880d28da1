/** Share of one user, or one component, in a shared container. */
export interface Holder {
  /** A user's id, or the name of a component for what belongs to no user. */
  readonly id: string
  count: number
  bytes: number
  /** Number of dropped items. */
  dropped: number
}

/** Capacity for all holders together. */
export interface SharedLimits {
  readonly maxCount: number
  readonly maxBytes: number
}

/** Number of known holders above which those that hold nothing are forgotten. */
const MOST_KNOWN = 2_000
/** The holder under which the losses of forgotten ones are counted. */
const FORGOTTEN = 'others'
/** Share of the capacity that the largest holder leaves to others once there are others. */
const RESERVED_SHARE = 1 / 8
/** The largest holder is searched again after at most this many requests for it. */
const SEARCH_EVERY = 64

/**
 * The accounts of a bounded queue or cache that users share: when it is full, the holder of the most loses first. Holders are
 * reused objects, so that counting creates no garbage.
 */
export class HolderShares {
  readonly #limits: SharedLimits
  readonly #holders = new Map<string, Holder>()
  #last: Holder | undefined
  #largest: Holder | undefined
  #asked = 0
  /** Holders that hold something. */
  #holding = 0
  #count = 0
  #bytes = 0

  constructor(limits: SharedLimits) {
    this.#limits = limits
  }

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The account of this id; created if it is missing. */
  of(id: string): Holder {
    if (this.#last?.id === id) return this.#last
    const known = this.#holders.get(id) ?? this.#open(id)
    this.#last = known
    return known
  }

  add(holder: Holder, bytes: number): void {
    if (holder.count === 0) this.#holding += 1
    holder.count += 1
    holder.bytes += bytes
    this.#count += 1
    this.#bytes += bytes
    if (!this.#largest || this.#weight(holder) > this.#weight(this.#largest)) this.#largest = holder
  }

  remove(holder: Holder, bytes: number): void {
    holder.count -= 1
    holder.bytes -= bytes
    this.#count -= 1
    this.#bytes -= bytes
    if (holder.count === 0) this.#holding -= 1
  }

  /** True when something has to go. */
  get isOver(): boolean {
    return this.#count > this.#limits.maxCount || this.#bytes > this.#limits.maxBytes
  }

  /**
   * True when this holder has to lose items: the limits are reached, or it is the largest one and uses the room that is reserved
   * for others.
   */
  isOverShare(holder: Holder): boolean {
    const { maxCount, maxBytes } = this.#limits
    if (this.isOver) return true
    const most = 1 - RESERVED_SHARE
    if (this.#holding < 2 || (this.#count <= maxCount * most && this.#bytes <= maxBytes * most)) return false
    return this.largest() === holder
  }

  /** The holder of the most, as far as known: it holds at least an average share. Undefined if nothing is held. */
  largest(): Holder | undefined {
    this.#asked += 1
    const known = this.#largest
    const isFresh = known && known.count > 0 && known.count * this.#holding >= this.#count
    if (!isFresh || this.#asked >= SEARCH_EVERY) this.#findLargest()
    return this.#largest
  }

  /** Losses by holder, largest first, at most `most` entries. */
  losses(most = 20): readonly { readonly id: string; readonly dropped: number }[] {
    return [...this.#holders.values()]
      .filter(({ dropped }) => dropped > 0)
      .sort((one, other) => other.dropped - one.dropped)
      .slice(0, most)
      .map(({ id, dropped }) => ({ id, dropped }))
  }

  #findLargest(): void {
    this.#asked = 0
    this.#largest = undefined
    for (const holder of this.#holders.values()) {
      if (holder.count > 0 && (!this.#largest || this.#weight(holder) > this.#weight(this.#largest)))
        this.#largest = holder
    }
  }

  #weight({ count, bytes }: Holder): number {
    return count / this.#limits.maxCount + bytes / this.#limits.maxBytes
  }

  #open(id: string): Holder {
    if (this.#holders.size >= MOST_KNOWN) this.#forgetIdle()
    const holder: Holder = { id, count: 0, bytes: 0, dropped: 0 }
    this.#holders.set(id, holder)
    return holder
  }

  #forgetIdle(): void {
    let lost = 0
    for (const [id, { count, dropped }] of this.#holders) {
      if (count > 0) continue
      lost += dropped
      this.#holders.delete(id)
    }
    this.#last = undefined
    if (lost > 0) this.#holders.set(FORGOTTEN, { id: FORGOTTEN, count: 0, bytes: 0, dropped: lost })
  }
}
