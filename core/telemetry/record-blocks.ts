import type { LogBatch } from '../features/log-store.ts'
import { type Holder, HolderShares, type SharedLimits } from '../transport-kit/holder-shares.ts'
import type { RecordLine } from './record-line.ts'

/** Bytes that are allocated at once, more than the log file is sent at once. A longer line gets a block of its own. */
const BLOCK_BYTES = 640 * 1024
/** Most bytes of one UTF-16 code unit in UTF-8. */
const WIDEST = 3
/**
 * Number of read blocks that are kept for reuse: fresh memory costs a page fault for each 4 KiB, and another when it is freed,
 * and the lists of ends and readers would be garbage.
 */
const MOST_SPARE = 2

/** Losses by holder, largest first. */
export type Losses = ReturnType<HolderShares['losses']>

/** Consecutive records, at their place in the block. */
export interface Taken {
  readonly bytes: Uint8Array
  /** Number of records. */
  readonly count: number
  /** To be called when `bytes` are read no more: others are written in their place. */
  giveBack(): void
}

const UNLIMITED: SharedLimits = { maxCount: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER }
/** Part of the largest holder's records that is dropped at once when they are not the oldest, since dropping copies all records. */
const DROPPED_PART = 1 / 8

/**
 * Queue of waiting records, oldest first, bounded and with shares: when it is full, the holder of the most bytes loses records.
 * Records are bytes in large blocks: tens of thousands of separate texts would be visited by each garbage collection, and copied
 * one by one to another thread.
 */
export class RecordBlocks {
  readonly #blocks: Block[] = []
  readonly #spare: Block[] = []
  readonly #shares: HolderShares
  #dropped = 0

  /** Default: no limits. */
  constructor(limits = UNLIMITED) {
    this.#shares = new HolderShares(limits)
  }

  /** Number of records. */
  get count(): number {
    return this.#shares.count
  }

  /** Bytes of all lines together. */
  get bytes(): number {
    return this.#shares.bytes
  }

  /** Records that were lost for want of room. */
  get dropped(): number {
    return this.#dropped
  }

  /** Losses by holder id, at most 20. */
  losses(): Losses {
    return this.#shares.losses()
  }

  /** `holderId`: owner of the share of the queue that the record uses. */
  push(line: string | RecordLine, readers: string, holderId = ''): void {
    const holder = this.#shares.of(holderId)
    this.#append(line, readers, holder)
    while (this.#shares.isOverShare(holder) && this.#makeRoom(holder));
  }

  #append(line: string | RecordLine | Uint8Array, readers: string, holder: Holder): void {
    const most = typeof line === 'string' ? line.length * WIDEST : line.length
    let block = this.#blocks.at(-1)
    if (!block?.fits(most)) {
      // An empty block is never followed by another block.
      if (block?.isEmpty) this.#keep(this.#blocks.pop())
      block = (most <= BLOCK_BYTES ? this.#spare.pop() : undefined) ?? new Block(most)
      this.#blocks.push(block)
    }
    this.#shares.add(holder, block.push(line, readers, holder))
  }

  /** `holder`: of the newest record. False when that one went. */
  #makeRoom(holder: Holder): boolean {
    const largest = this.#shares.largest()
    const [first] = this.#blocks
    if (!largest || !first) return false
    if (first.oldestHolder === largest) {
      this.#lose(largest)
      this.#release(first, 1)
      this.#tidy(first)
    } else if (largest === holder) {
      // Its oldest records are between those of others: dropping the newest costs nothing.
      const last = this.#blocks.at(-1)
      this.#lose(largest)
      this.#shares.remove(largest, last?.dropNewest() ?? 0)
      return false
    } else this.#dropOf(largest, Math.ceil(largest.count * DROPPED_PART))
    return true
  }

  #lose(holder: Holder): void {
    holder.dropped += 1
    this.#dropped += 1
  }

  /** Drops the oldest records of one holder, at any place. */
  #dropOf(holder: Holder, count: number): void {
    let left = count
    for (const block of this.#blocks.splice(0)) {
      for (let at = 0; at < block.count; at += 1) {
        const { bytes, readers, holder: of } = block.at(at)
        this.#shares.remove(of, bytes.length)
        if (of === holder && left > 0) {
          left -= 1
          this.#lose(holder)
        } else this.#append(bytes, readers, of)
      }
    }
  }

  /** The first records of a block go. Returns their bytes. */
  #release(block: Block, count: number): number {
    return block.skip(count, this.#shares)
  }

  /** Takes out the oldest records, `most` at the most. */
  take(most: number): LogBatch {
    const count = Math.min(most, this.count)
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
      bytes += this.#release(block, part.readers.length)
      this.#tidy(block)
    }
    return { bytes: joined(parts, bytes), ends, readers }
  }

  /** Takes out the oldest block without a copy; if it has more than `most` bytes, only as many of its first records as fit. */
  takeBlock(most = Number.POSITIVE_INFINITY): Taken | undefined {
    const block = this.count > 0 ? this.#blocks[0] : undefined
    if (!block) return undefined
    const { bytes, count } = block
    if (bytes.length > most) {
      const { bytes: first, readers } = this.take(block.countWithin(most))
      return { bytes: first, count: readers.length, giveBack: () => undefined }
    }
    this.#blocks.shift()
    this.#release(block, count)
    return { bytes, count, giveBack: () => this.#keep(block) }
  }

  /** Removes a block that was read completely, or clears it if it is the last one. */
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
  readonly #holders: Holder[] = []
  #pushed = 0
  #used = 0
  /** Index of the oldest record, and its offset. */
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

  /** Bytes of all records in place. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(this.#from, this.#used)
  }

  fits(bytes: number): boolean {
    return this.#used + bytes <= this.#buffer.length
  }

  /** The holder of the oldest record. */
  get oldestHolder(): Holder | undefined {
    return this.#holders[this.#head]
  }

  /** Returns the bytes of the line. */
  push(line: string | RecordLine | Uint8Array, readers: string, holder: Holder): number {
    const written = this.#write(line)
    this.#used += written
    this.#ends[this.#pushed] = this.#used
    this.#readers[this.#pushed] = readers
    this.#holders[this.#pushed] = holder
    this.#pushed += 1
    return written
  }

  #write(line: string | RecordLine | Uint8Array): number {
    if (typeof line === 'string') return this.#buffer.write(line, this.#used)
    if (!(line instanceof Uint8Array)) return line.copyTo(this.#buffer, this.#used)
    this.#buffer.set(line, this.#used)
    return line.length
  }

  /** The record at a place behind the oldest one; the bytes are those of the block. */
  at(place: number): { readonly bytes: Uint8Array; readonly readers: string; readonly holder: Holder } {
    const index = this.#head + place
    const from = index === this.#head ? this.#from : (this.#ends[index - 1] ?? 0)
    const { [index]: holder } = this.#holders
    if (!holder) throw new RangeError(`There is no record ${place}`)
    return { bytes: this.#buffer.subarray(from, this.#ends[index]), readers: this.#readers[index] ?? '', holder }
  }

  /** Removes the newest record and returns its number of bytes. */
  dropNewest(): number {
    this.#pushed -= 1
    const from = this.#pushed === this.#head ? this.#from : (this.#ends[this.#pushed - 1] ?? 0)
    const bytes = this.#used - from
    this.#used = from
    return bytes
  }

  /** Number of records from the front that fit into this many bytes; at least one. */
  countWithin(bytes: number): number {
    let to = this.#head + 1
    while (to < this.#pushed && (this.#ends[to] ?? 0) - this.#from <= bytes) to += 1
    return to - this.#head
  }

  /** Removes records from the front and from their holders' accounts. Returns the number of removed bytes. */
  skip(count: number, shares: HolderShares): number {
    const begin = this.#from
    for (let left = count; left > 0; left -= 1) {
      const { [this.#head]: end = this.#from } = this.#ends
      const { [this.#head]: holder } = this.#holders
      if (holder) shares.remove(holder, end - this.#from)
      this.#head += 1
      this.#from = end
    }
    return this.#from - begin
  }

  /** The first records, which stay; the bytes are those of the block. */
  oldest(most: number): LogBatch {
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

/** Returns a plain array, since `slice` of a `Buffer` would not copy. */
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
export function linesOf({ bytes, ends }: Pick<LogBatch, 'bytes' | 'ends'>): string[] {
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
