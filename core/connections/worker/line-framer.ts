import { GrowingBytes } from '../../domain/growing-bytes.ts'
import type { LongMessage } from '../../transport-kit/definition.ts'
import { LongMessageReader } from '../../transport-kit/long-message.ts'

/** The longest line that is skipped; a longer one ends the stream, since it might never end. */
export const LONGEST_DROPPED_BYTES = 256 * 1024 * 1024
/** The buffered part of a line is scanned in pieces of this size. */
const PIECE_BYTES = 64 * 1024

/** Callbacks of a `LineFramer`. */
export interface LineFramerOptions {
  readonly maxBytes: number
  line(line: string): void
  /** A line exceeds `maxBytes` and is dropped. Called once per line, as soon as its message id is known. */
  tooLong(message: LongMessage): void
  /** A line exceeds the length that is skipped; nothing is delivered after it. */
  overflow(): void
}

/** Splits bytes into lines without their ends (`\n` or `\r\n`), decoded as UTF-8, wherever the chunks are cut. */
export class LineFramer {
  readonly #options: LineFramerOptions
  #maxBytes: number
  /** The beginning of an incomplete line. */
  #held: GrowingBytes
  /** Reads the line being dropped until its message id is known. */
  #reader: LongMessageReader | undefined
  #dropping = false
  #dropped = 0
  #droppedOfLine = 0
  #ended = false

  constructor(options: LineFramerOptions) {
    this.#options = options
    this.#maxBytes = options.maxBytes
    this.#held = new GrowingBytes(options.maxBytes)
  }

  /** Bytes of the incomplete line. */
  get heldBytes(): number {
    return this.#held.length
  }

  /** Total bytes of dropped lines. */
  get droppedBytes(): number {
    return this.#dropped
  }

  set maxBytes(maxBytes: number) {
    if (maxBytes === this.#maxBytes) return
    this.#maxBytes = maxBytes
    const held = this.#held.bytes()
    this.#held = new GrowingBytes(maxBytes)
    this.#held.append(held)
  }

  push(chunk: Buffer): void {
    let rest = chunk
    while (!this.#ended && rest.length > 0) {
      if (!this.#dropping) return this.#take(rest)
      const end = rest.indexOf(10)
      this.#drop(end < 0 ? rest : rest.subarray(0, end))
      if (end < 0) return
      this.#reportAnswered()
      this.#dropping = false
      rest = rest.subarray(end + 1)
    }
  }

  #take(chunk: Buffer): void {
    const last = chunk.lastIndexOf(10)
    if (last === -1) return this.#hold(chunk)
    let start = 0
    if (this.#held.length > 0) {
      const first = chunk.indexOf(10)
      if (this.#held.length + first > this.#maxBytes) {
        this.#beginDropping()
        return this.push(chunk)
      }
      this.#held.append(chunk.subarray(0, first))
      const line = this.#held.bytes().toString('utf8')
      this.#held.clear()
      this.#deliver(line)
      start = first + 1
    }
    // All complete lines of the chunk are decoded at once; a line end is never part of a longer UTF-8 sequence.
    if (start <= last) this.#split(chunk.toString('utf8', start, last))
    if (last + 1 < chunk.length) this.#hold(chunk.subarray(last + 1))
  }

  #split(text: string): void {
    let from = 0
    let to = text.indexOf('\n')
    while (to !== -1) {
      this.#deliver(text.slice(from, to))
      from = to + 1
      to = text.indexOf('\n', from)
    }
    this.#deliver(from === 0 ? text : text.slice(from))
  }

  #deliver(line: string): void {
    if (this.#ended) return
    this.#options.line(line.endsWith('\r') ? line.slice(0, -1) : line)
  }

  #hold(bytes: Buffer): void {
    if (this.#ended) return
    if (this.#held.length + bytes.length <= this.#maxBytes) return this.#held.append(bytes)
    this.#beginDropping()
    this.#drop(bytes)
  }

  #beginDropping(): void {
    const held = this.#held.bytes()
    this.#held = new GrowingBytes(this.#maxBytes)
    this.#dropping = true
    this.#droppedOfLine = 0
    this.#reader = new LongMessageReader()
    for (let at = 0; at < held.length && this.#reader; at += PIECE_BYTES)
      this.#drop(held.subarray(at, at + PIECE_BYTES))
  }

  #drop(bytes: Buffer): void {
    this.#dropped += bytes.length
    this.#droppedOfLine += bytes.length
    if (this.#droppedOfLine > LONGEST_DROPPED_BYTES) {
      this.#ended = true
      this.#options.overflow()
    } else if (this.#reader) {
      this.#reader.push(bytes.toString('latin1'))
      if (this.#reader.answered !== undefined) this.#reportAnswered()
    }
  }

  #reportAnswered(): void {
    const reader = this.#reader
    this.#reader = undefined
    if (reader) this.#options.tooLong(reader.end())
  }
}
