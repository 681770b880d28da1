/** Highest number of rows of labels of one metric; further ones are counted under folded labels. */
export const MOST_LABEL_SETS = 2_000

/** A row of labels with its number. */
export interface Counted<V> {
  readonly labels: readonly string[]
  value: V
}

/** Numbers by rows of labels, at most 2,000 of them and those that they are folded to. */
export class LabelledValues<V> {
  readonly #initial: () => V
  readonly #fold: (labels: readonly string[]) => readonly string[]
  readonly #rows = new Map<string, Counted<V>>()

  /** `fold`: returns the labels under which rows above the limit are counted; it must return few different ones. */
  constructor(initial: () => V, fold: (labels: readonly string[]) => readonly string[]) {
    this.#initial = initial
    this.#fold = fold
  }

  /** The row of these labels. */
  row(labels: readonly string[]): Counted<V> {
    const known = this.#rows.get(labels.join('\n'))
    if (known) return known
    if (this.#rows.size < MOST_LABEL_SETS) return this.#add(labels)
    const folded = this.#fold(labels)
    return this.#rows.get(folded.join('\n')) ?? this.#add(folded)
  }

  rows(): Iterable<Counted<V>> {
    return this.#rows.values()
  }

  /** Forgets rows. */
  remove(isGone: (labels: readonly string[]) => boolean): void {
    for (const [key, { labels }] of this.#rows) if (isGone(labels)) this.#rows.delete(key)
  }

  #add(labels: readonly string[]): Counted<V> {
    const row = { labels: [...labels], value: this.#initial() }
    this.#rows.set(labels.join('\n'), row)
    return row
  }
}

/** Upper ends of the buckets of durations, in seconds. */
const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300] as const

/** Durations by bucket. */
export class DurationHistogram {
  readonly #counts = new Float64Array(BUCKETS.length + 1)
  #sum = 0

  add(seconds: number): void {
    let bucket = 0
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket += 1
    this.#counts[bucket]! += 1
    this.#sum += seconds
  }

  /** Samples for Prometheus. */
  *samples(labels: Readonly<Record<string, string>>) {
    let below = 0
    for (const [index, count] of this.#counts.entries()) {
      below += count
      yield { suffix: '_bucket', labels, le: String(BUCKETS[index] ?? '+Inf'), value: below }
    }
    yield { suffix: '_sum', labels, value: this.#sum }
    yield { suffix: '_count', labels, value: below }
  }
}
