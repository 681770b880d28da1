import type { RecordLine } from './record-line.ts'

/** Records of one batch, as they are logged. */
export interface SinkBatch {
  /** The lines one behind the other, in UTF-8. */
  readonly bytes: Uint8Array
  /** Where each line ends in `bytes`. */
  readonly ends: Uint32Array
  /** Parallel to `ends`: ids of those who may read the record, joined by commas. An empty text: administrators alone. */
  readonly readers: readonly string[]
}

/** Bytes that are allocated at once, more than the log file is sent at once. A longer line gets a block of its own. */
const BLOCK_BYTES = 640 * 1024
/** Most bytes of one UTF-16 code unit in UTF-8. */
const WIDEST = 3
/**
 * Read blocks that are kept for what comes next: fresh memory costs a page fault for each 4 KiB, and one more when it goes, and their
 * lists of ends and readers would be garbage.
 */
const MOST_SPARE = 2

/** Records that lie one behind the other, where they were written. */
export interface Taken {
  readonly bytes: Uint8Array
  /** Number of records. */
  readonly count: number
  /** To be called when `bytes` are read no more: others are written in their place. */
  giveBack(): void
}

/**
 * Records that wait, the oldest first. They lie as bytes in large blocks: tens of thousands of waiting texts would have to be
 * looked at by each garbage collection, and copied one by one on their way to another thread.
 */
export class RecordBlocks {
  readonly #blocks: Block[] = []
  readonly #spare: Block[] = []
  #count = 0
  #bytes = 0

  /** Number of records. */
  get count(): number {
    return this.#count
  }

  /** Of all lines together. */
  get bytes(): number {
    return this.#bytes
  }

  push(line: string | RecordLine, readers: string): void {
    const most = typeof line === 'string' ? line.length * WIDEST : line.length
    let block = this.#blocks.at(-1)
    if (!block?.fits(most)) {
      // None that is empty stands before others.
      if (block?.isEmpty) this.#keep(this.#blocks.pop())
      block = (most <= BLOCK_BYTES ? this.#spare.pop() : undefined) ?? new Block(most)
      this.#blocks.push(block)
    }
    this.#bytes += block.push(line, readers)
    this.#count += 1
  }

  dropOldest(): void {
    const [block] = this.#blocks
    if (!block || this.#count === 0) return
    this.#bytes -= block.skip(1)
    this.#count -= 1
    this.#tidy(block)
  }

  /** Takes out the oldest records, `most` at the most. */
  take(most: number): SinkBatch {
    const count = Math.min(most, this.#count)
    const parts: Uint8Array[] = []
    const ends = new Uint32Array(count)
    const readers: string[] = []
    let bytes = 0
    while (readers.length < count) {
      const [block] = this.#blocks
      if (!block) break
      const part = block.oldest(count - readers.length)
      for (const [index, end] of part.ends.entries()) ends[readers.length + index] = bytes + end
      parts.push(part.bytes)
      readers.push(...part.readers)
      bytes += block.skip(part.readers.length)
      this.#tidy(block)
    }
    this.#count -= count
    this.#bytes -= bytes
    return { bytes: joined(parts, bytes), ends, readers }
  }

  /** Takes out the oldest block as it is, without a copy; if it has more than `most` bytes, those of its first records that fit. */
  takeBlock(most = Number.POSITIVE_INFINITY): Taken | undefined {
    const block = this.#count > 0 ? this.#blocks[0] : undefined
    if (!block) return undefined
    const { bytes, count } = block
    if (bytes.length > most) {
      const { bytes: first, readers } = this.take(block.countWithin(most))
      return { bytes: first, count: readers.length, giveBack: () => undefined }
    }
    this.#blocks.shift()
    this.#count -= count
    this.#bytes -= bytes.length
    return { bytes, count, giveBack: () => this.#keep(block) }
  }

  /** A block that was read to its end goes, or is used again where it is the last one. */
  #tidy(first: Block): void {
    if (!first.isEmpty) return
    if (this.#blocks.length > 1) this.#keep(this.#blocks.shift())
    else first.clear()
  }

  #keep(block: Block | undefined): void {
    if (block?.room !== BLOCK_BYTES || this.#spare.length >= MOST_SPARE) return
    block.clear()
    this.#spare.push(block)
  }
}

/** Some records one behind the other. */
class Block {
  readonly #buffer: Buffer
  /** Parallel, and longer than `#pushed` in a block that is used again. */
  readonly #ends: number[] = []
  readonly #readers: string[] = []
  #pushed = 0
  #used = 0
  /** Index of the oldest record, and where it begins. */
  #head = 0
  #from = 0

  /** A longer line than usual gets as many bytes as it needs. */
  constructor(most: number) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, most))
  }

  /** In bytes. */
  get room(): number {
    return this.#buffer.length
  }

  get count(): number {
    return this.#pushed - this.#head
  }

  get isEmpty(): boolean {
    return this.count === 0
  }

  /** Those of all records, where they lie. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(this.#from, this.#used)
  }

  fits(bytes: number): boolean {
    return this.#used + bytes <= this.#buffer.length
  }

  /** Returns the bytes of the line. */
  push(line: string | RecordLine, readers: string): number {
    const written =
      typeof line === 'string' ? this.#buffer.write(line, this.#used) : line.copyTo(this.#buffer, this.#used)
    this.#used += written
    this.#ends[this.#pushed] = this.#used
    this.#readers[this.#pushed] = readers
    this.#pushed += 1
    return written
  }

  /** How many of the first records fit into so many bytes; one if none does. */
  countWithin(bytes: number): number {
    let to = this.#head + 1
    while (to < this.#pushed && (this.#ends[to] ?? 0) - this.#from <= bytes) to += 1
    return to - this.#head
  }

  /** Returns the bytes of the records that are gone. */
  skip(count: number): number {
    if (count === 0) return 0
    const { [this.#head + count - 1]: end = this.#from } = this.#ends
    const bytes = end - this.#from
    this.#head += count
    this.#from = end
    return bytes
  }

  /** The first records, which stay; the bytes are those of the block. */
  oldest(most: number): SinkBatch {
    const to = Math.min(this.#head + most, this.#pushed)
    const ends = this.#ends.slice(this.#head, to)
    return {
      bytes: this.#buffer.subarray(this.#from, ends.at(-1) ?? this.#from),
      ends: Uint32Array.from(ends, end => end - this.#from),
      readers: this.#readers.slice(this.#head, to),
    }
  }

  clear(): void {
    this.#pushed = 0
    this.#used = 0
    this.#head = 0
    this.#from = 0
  }
}

/** An array of its own and no `Buffer`, whose `slice` would not copy. */
function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** The lines of a batch as texts. */
export function linesOf({ bytes, ends }: Pick<SinkBatch, 'bytes' | 'ends'>): string[] {
  const decoder = new TextDecoder()
  const whole = decoder.decode(bytes)
  const isAscii = whole.length === bytes.length
  const lines: string[] = []
  let from = 0
  for (const end of ends) {
    lines.push(isAscii ? whole.slice(from, end) : decoder.decode(bytes.subarray(from, end)))
    from = end
  }
  return lines
}
