import { type Holder, HolderShares } from './holder-shares.ts'

/** Limits of a `SharedCache`. */
export interface SharedCacheOptions<V> {
  /** Sum of the sizes of all values. */
  readonly maxSize: number
  /** Default: 1 for each, so that `maxSize` is a number of values. */
  readonly sizeOf?: (value: V) => number
}

interface Cached<V> {
  readonly value: V
  readonly size: number
  /** Holders that keep it. */
  readonly by: Set<Holder>
}

/**
 * A cache with shares: values are kept for those who used them, and when it is full, the holder of the most loses its least
 * recently used values. A value with several users is stored once, counts as a part of each one's share, and is removed when no
 * share holds it.
 */
export class SharedCache<K, V extends object | string | true> {
  readonly #options: SharedCacheOptions<V>
  readonly #shares: HolderShares
  readonly #values = new Map<K, Cached<V>>()
  /** The keys of each holder, the least recently used first. */
  readonly #keys = new Map<Holder, Set<K>>()
  #size = 0

  constructor(options: SharedCacheOptions<V>) {
    this.#options = options
    this.#shares = new HolderShares({ maxCount: options.maxSize, maxBytes: options.maxSize })
  }

  /** Number of values. */
  get count(): number {
    return this.#values.size
  }

  /** Sum of the sizes of all values. */
  get size(): number {
    return this.#size
  }

  /** True when the value is cached, by any holder. Does not count as a use. */
  has(key: K): boolean {
    return this.#values.has(key)
  }

  /** The value without a holder’s using it. */
  peek(key: K): V | undefined {
    return this.#values.get(key)?.value
  }

  /** Returns the value, whichever holder added it; from now on it is part of this holder’s share, as its most recently used one. */
  get(holderId: string, key: K): V | undefined {
    const cached = this.#values.get(key)
    if (!cached) return undefined
    this.#use(this.#shares.of(holderId), key, cached)
    return cached.value
  }

  /** Stores a value, replacing an earlier one. A value that is larger than the cache is not stored. */
  set(holderId: string, key: K, value: V): void {
    this.delete(key)
    const size = this.#options.sizeOf?.(value) ?? 1
    if (size > this.#options.maxSize) return
    const cached: Cached<V> = { value, size, by: new Set() }
    this.#values.set(key, cached)
    this.#size += size
    this.#use(this.#shares.of(holderId), key, cached)
    while (this.#size > this.#options.maxSize) {
      const largest = this.#shares.largest()
      if (!largest) return
      this.#dropOldest(largest)
    }
  }

  delete(key: K): void {
    const cached = this.#values.get(key)
    if (!cached) return
    for (const holder of cached.by) this.#release(holder, key, cached)
  }

  clear(): void {
    for (const key of [...this.#values.keys()]) this.delete(key)
  }

  /** All keys and values, in no order. */
  entries(): IterableIterator<[K, { readonly value: V }]> {
    return this.#values.entries()
  }

  #use(holder: Holder, key: K, cached: Cached<V>): void {
    let keys = this.#keys.get(holder)
    if (!keys) {
      keys = new Set()
      this.#keys.set(holder, keys)
    }
    if (cached.by.has(holder)) keys.delete(key)
    else {
      cached.by.add(holder)
      this.#shares.add(holder, cached.size)
    }
    keys.add(key)
  }

  #dropOldest(holder: Holder): void {
    const { value: key, done } = this.#keys.get(holder)?.values().next() ?? { done: true, value: undefined }
    if (done) return
    const cached = this.#values.get(key as K)
    if (cached) this.#release(holder, key as K, cached)
  }

  #release(holder: Holder, key: K, cached: Cached<V>): void {
    const keys = this.#keys.get(holder)
    keys?.delete(key)
    if (keys?.size === 0) this.#keys.delete(holder)
    cached.by.delete(holder)
    this.#shares.remove(holder, cached.size)
    if (cached.by.size > 0) return
    this.#values.delete(key)
    this.#size -= cached.size
  }
}
