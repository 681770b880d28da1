const FIRST_SLOTS = 32
const MOST_SLOTS = 4_096
/** Marks a free slot: it equals no whole number. */
const FREE = 0.5

/**
 * A map for values that are numbered consecutively and mostly short-lived, such as calls by their ids: it finds a value
 * by the low bits of its number, in arrays that are never reallocated. A Map allocates a new table every few changes
 * and costs five times as much, most of it in the garbage collector.
 *
 * Numbers are whole. Up to 2,048 neighbours at a time are in the arrays; a value whose slot is needed by another is
 * moved to a Map.
 */
export class SequenceMap<Value> {
  /** One per slot; the number of slots is a power of two. */
  #keys: number[] = []
  #values: (Value | undefined)[] = []
  /** Values that were moved because another value needed their slot. */
  readonly #moved = new Map<number, Value>()
  #inSlots = 0

  constructor() {
    this.#empty(FIRST_SLOTS)
  }

  get size(): number {
    return this.#inSlots + this.#moved.size
  }

  get(key: number): Value | undefined {
    const slot = key & (this.#keys.length - 1)
    return this.#keys[slot] === key ? this.#values[slot] : this.#moved.get(key)
  }

  has(key: number): boolean {
    return this.#keys[key & (this.#keys.length - 1)] === key || this.#moved.has(key)
  }

  set(key: number, value: Value): void {
    if (2 * this.#inSlots >= this.#keys.length && this.#keys.length < MOST_SLOTS) this.#grow()
    if (this.#moved.has(key)) this.#moved.set(key, value)
    else this.#put(key, value)
  }

  /** False when the key was missing. */
  delete(key: number): boolean {
    const slot = key & (this.#keys.length - 1)
    if (this.#keys[slot] !== key) return this.#moved.delete(key)
    this.#keys[slot] = FREE
    this.#values[slot] = undefined
    this.#inSlots -= 1
    return true
  }

  clear(): void {
    this.#empty(FIRST_SLOTS)
  }

  /** All current entries, the lowest number first. */
  entries(): [number, Value][] {
    const entries = [...this.#moved]
    for (const [slot, key] of this.#keys.entries()) if (key !== FREE) entries.push([key, this.#values[slot] as Value])
    return entries.sort(([a], [b]) => a - b)
  }

  #put(key: number, value: Value): void {
    const slot = key & (this.#keys.length - 1)
    const before = this.#keys[slot] ?? FREE
    if (before === FREE) this.#inSlots += 1
    else if (before !== key) this.#moved.set(before, this.#values[slot] as Value)
    this.#keys[slot] = key
    this.#values[slot] = value
  }

  #grow(): void {
    const entries = this.entries()
    this.#empty(2 * this.#keys.length)
    for (const [key, value] of entries) this.#put(key, value)
  }

  #empty(slots: number): void {
    this.#keys = new Array(slots).fill(FREE)
    this.#values = new Array(slots).fill(undefined)
    this.#moved.clear()
    this.#inSlots = 0
  }
}
