const KEPT = 128

/** The latest response times of one server, for the console. */
export class Latency {
  readonly #times = new Float32Array(KEPT)
  #count = 0

  add(ms: number): void {
    this.#times[this.#count % KEPT] = ms
    this.#count += 1
  }

  /** Milliseconds, rounded to hundredths; undefined before the first answer. */
  percentiles(): { readonly p50: number; readonly p95: number } | undefined {
    if (this.#count === 0) return undefined
    const sorted = this.#times.slice(0, Math.min(this.#count, KEPT)).sort()
    const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)]! * 100) / 100
    return { p50: at(0.5), p95: at(0.95) }
  }
}
