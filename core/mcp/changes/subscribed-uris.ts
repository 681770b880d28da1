/** The subscriptions over one connection, found by an updated URI without a scan of all others. */
export class SubscribedUris<T> {
  readonly #byUri = new Map<string, T>()
  /** Number of URIs of each length: prefixes of other lengths need no lookup. */
  readonly #lengths = new Map<number, number>()

  get size(): number {
    return this.#byUri.size
  }

  values(): IterableIterator<T> {
    return this.#byUri.values()
  }

  set(uri: string, subscription: T): void {
    if (!this.#byUri.has(uri)) this.#lengths.set(uri.length, (this.#lengths.get(uri.length) ?? 0) + 1)
    this.#byUri.set(uri, subscription)
  }

  delete(uri: string): void {
    if (!this.#byUri.delete(uri)) return
    const left = (this.#lengths.get(uri.length) ?? 0) - 1
    if (left > 0) this.#lengths.set(uri.length, left)
    else this.#lengths.delete(uri.length)
  }

  /** The subscriptions to this URI, and to those that are its ancestors. */
  *covering(uri: string): IterableIterator<T> {
    for (const length of this.#lengths.keys()) {
      const subscription = isWhole(uri, length) ? this.#byUri.get(uri.slice(0, length)) : undefined
      if (subscription !== undefined) yield subscription
    }
  }
}

/** True when the first `length` characters may be an ancestor of the whole URI. */
function isWhole(uri: string, length: number): boolean {
  if (length >= uri.length) return length === uri.length
  return uri[length - 1] === '/' || /[/?#]/.test(uri[length] ?? '')
}
