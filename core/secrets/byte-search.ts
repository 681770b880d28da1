/** Shortest pattern allowed, in bytes. */
const SLOT_BYTES = 4
const SLOTS = 65_536
/** `…` in UTF-8. */
const MARK = [0xe2, 0x80, 0xa6] as const
/** Longest cut text before a `…`, in bytes. Text is redacted before it is cut, so longer ones need no search. */
const CUT_BYTES = 512
/** For a pattern of this length or more, this many of its first bytes are already a match, together with all equal
 * bytes after. */
const LONG_BYTES = 128

/**
 * Searches bytes for many patterns in one pass. The worst case is some hundred comparisons per position, whatever the
 * patterns are: they are sorted and found by bisection, and comparing more than `LONG_BYTES` always yields a match,
 * whose bytes are skipped.
 */
export class ByteSearch {
  readonly #short: SortedPatterns
  readonly #long: SortedPatterns
  /** True for hashes of bytes with which a pattern begins: one bit each, since 8 KiB stay in the cache of a processor. */
  readonly #begins = new Uint32Array(SLOTS / 32)

  /** Patterns have one character per byte, and at least 4. */
  constructor(patterns: Iterable<string>) {
    const all = [...new Set(patterns)]
    for (const pattern of all) {
      let window = 0
      for (let at = 0; at < SLOT_BYTES; at += 1) window = (window << 8) | pattern.charCodeAt(at)
      const slot = slotOf(window)
      this.#begins[slot >>> 5]! |= 1 << (slot & 31)
    }
    this.#short = new SortedPatterns(all.filter(({ length }) => length < LONG_BYTES))
    this.#long = new SortedPatterns(all.filter(({ length }) => length >= LONG_BYTES))
  }

  /** True when no pattern begins anywhere in a text of ASCII only; false if it has other characters, or one of `stops`. */
  isAbsent(text: string, stops: readonly [number, number]): boolean {
    const [one, other] = stops
    let window = 0
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      if (code > 0x7f || code === one || code === other) return false
      window = (window << 8) | code
      if (index >= SLOT_BYTES - 1 && this.#mayBegin(window)) return false
    }
    return true
  }

  /** Start and end of each stretch covered by patterns, in order; overlapping stretches are merged. */
  find(bytes: Uint8Array): number[] {
    const spans: number[] = []
    const last = bytes.length
    let window = 0
    let longFrom = 0
    for (let index = 0; index < last; index += 1) {
      window = (window << 8) | (bytes[index] ?? 0)
      if (index < SLOT_BYTES - 1 || !this.#mayBegin(window)) continue
      const at = index - SLOT_BYTES + 1
      let length = this.#short.longestAt(bytes, at)
      if (at >= longFrom) {
        const common = this.#long.longestCommonAt(bytes, at)
        if (common >= LONG_BYTES) {
          length = common
          // A skipped position would repeat the comparison of the bytes after it.
          longFrom = at + common - LONG_BYTES + 1
        }
      }
      if (length > 0) addSpan(spans, at, at + length)
    }
    return spans
  }

  /** Start and end of each stretch before a `…` by which a pattern was cut short: at least 4 of its first bytes. */
  findCut(bytes: Uint8Array): number[] {
    const spans: number[] = []
    let from = 0
    for (let mark = indexOfMark(bytes, 0); mark >= 0; mark = indexOfMark(bytes, from)) {
      const start = this.#cutStart(bytes, Math.max(from, mark - CUT_BYTES), mark)
      if (start >= 0) spans.push(start, mark)
      from = mark + MARK.length
    }
    return spans
  }

  #mayBegin(window: number): boolean {
    const slot = slotOf(window)
    return ((this.#begins[slot >>> 5]! >>> (slot & 31)) & 1) !== 0
  }

  #cutStart(bytes: Uint8Array, from: number, mark: number): number {
    let window = 0
    for (let index = from; index < mark; index += 1) {
      window = (window << 8) | (bytes[index] ?? 0)
      const at = index - SLOT_BYTES + 1
      if (at < from || !this.#mayBegin(window)) continue
      const common = Math.max(this.#short.longestCommonAt(bytes, at), this.#long.longestCommonAt(bytes, at))
      if (common >= mark - at) return at
    }
    return -1
  }
}

function indexOfMark(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(MARK[0], from)
  while (at >= 0 && (bytes[at + 1] !== MARK[1] || bytes[at + 2] !== MARK[2])) at = bytes.indexOf(MARK[0], at + 1)
  return at
}

function addSpan(spans: number[], start: number, end: number): void {
  const before = spans.length - 1
  if (before > 0 && start < (spans[before] ?? 0)) spans[before] = Math.max(spans[before] ?? 0, end)
  else spans.push(start, end)
}

/** Spans of several searches as one list: sorted, without overlaps. */
export function mergeSpans(lists: readonly (readonly number[])[]): readonly number[] {
  const found = lists.filter(list => list.length > 0)
  if (found.length < 2) return found[0] ?? []
  const pairs = found.flatMap(list =>
    list.flatMap((start, at) => (at % 2 === 0 ? [[start, list[at + 1] ?? start] as const] : [])),
  )
  pairs.sort(([left], [right]) => left - right)
  const spans: number[] = []
  for (const [start, end] of pairs) addSpan(spans, start, end)
  return spans
}

function slotOf(window: number): number {
  return Math.imul(window, 0x9e3779b1) >>> 16
}

class SortedPatterns {
  readonly #sorted: readonly string[]
  /** Index of the longest other pattern that each begins with; -1: none. */
  readonly #parents: Int32Array
  /**
   * Outcome of the last bisection: the greatest pattern that is not greater than the bytes, and the lengths of the common
   * prefixes.
   */
  #before = -1
  #commonBefore = 0
  #commonAfter = 0

  constructor(patterns: readonly string[]) {
    // By code units, which is by bytes here.
    this.#sorted = patterns.toSorted()
    this.#parents = new Int32Array(patterns.length).fill(-1)
    const open: number[] = []
    for (const [index, pattern] of this.#sorted.entries()) {
      while (open.length > 0 && !pattern.startsWith(this.#sorted[open.at(-1) ?? 0] ?? '')) open.pop()
      this.#parents[index] = open.at(-1) ?? -1
      open.push(index)
    }
  }

  /** Length of the longest pattern that the bytes at `at` begin with; 0: none. */
  longestAt(bytes: Uint8Array, at: number): number {
    this.#bisect(bytes, at)
    let index = this.#before
    while (index >= 0 && (this.#sorted[index]?.length ?? 0) > this.#commonBefore) index = this.#parents[index] ?? -1
    return this.#sorted[index]?.length ?? 0
  }

  /** Number of bytes at `at` that are also the first bytes of some pattern. */
  longestCommonAt(bytes: Uint8Array, at: number): number {
    this.#bisect(bytes, at)
    return Math.max(this.#commonBefore, this.#commonAfter)
  }

  #bisect(bytes: Uint8Array, at: number): void {
    let low = -1
    let high = this.#sorted.length
    let commonLow = 0
    let commonHigh = 0
    while (high - low > 1) {
      const middle = (low + high) >> 1
      const pattern = this.#sorted[middle] ?? ''
      // A prefix that both ends share with the bytes is shared by all patterns between them.
      let common = Math.min(commonLow, commonHigh)
      while (common < pattern.length && bytes[at + common] === pattern.charCodeAt(common)) common += 1
      const isPrefix = common === pattern.length
      if (isPrefix || pattern.charCodeAt(common) < (bytes[at + common] ?? -1)) {
        low = middle
        commonLow = common
      } else {
        high = middle
        commonHigh = common
      }
    }
    this.#before = low
    this.#commonBefore = commonLow
    this.#commonAfter = commonHigh
  }
}
