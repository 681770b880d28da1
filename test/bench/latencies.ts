/** Every call's duration of one run, in milliseconds. */
export class Latencies {
  #values = new Float64Array(65_536)
  #count = 0

  add(ms: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#count * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#count] = ms
    this.#count += 1
  }

  get count(): number {
    return this.#count
  }

  /** The value below which the share of calls lies; 0 when there was none. */
  quantiles(shares: readonly number[]): number[] {
    const sorted = this.#values.subarray(0, this.#count).sort()
    return shares.map(share => sorted[Math.min(this.#count - 1, Math.floor(this.#count * share))] ?? 0)
  }
}
