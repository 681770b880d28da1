import { GrowingBytes } from '../domain/growing-bytes.ts'

/** What becomes of bytes: lines without their ends (`\n` or `\r\n`), decoded as UTF-8, however the bytes were cut. */
export class LineFramer {
  readonly #maxBytes: number
  readonly #line: (line: string) => void
  readonly #overflow: () => void
  /** The beginning of a line. */
  readonly #held: GrowingBytes
  #ended = false

  /** `overflow` is called once, for the first line beyond `maxBytes`; nothing is delivered after it. */
  constructor(options: { readonly maxBytes: number; line(line: string): void; overflow(): void }) {
    this.#maxBytes = options.maxBytes
    this.#held = new GrowingBytes(options.maxBytes)
    this.#line = line => options.line(line)
    this.#overflow = () => options.overflow()
  }

  /** Bytes of a line that has not ended yet. */
  get heldBytes(): number {
    return this.#held.length
  }

  push(chunk: Buffer): void {
    if (this.#ended) return
    const last = chunk.lastIndexOf(10)
    if (last === -1) {
      this.#hold(chunk)
      return
    }
    let start = 0
    if (this.#held.length > 0) {
      const first = chunk.indexOf(10)
      if (this.#held.length + first > this.#maxBytes) {
        this.#fail()
        return
      }
      this.#held.append(chunk.subarray(0, first))
      const line = this.#held.bytes().toString('utf8')
      this.#held.clear()
      this.#deliver(line)
      start = first + 1
    }
    // One decoding for all whole lines of the chunk; a line end is never part of a longer UTF-8 sequence.
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
    this.#line(line.endsWith('\r') ? line.slice(0, -1) : line)
  }

  #hold(bytes: Buffer): void {
    if (this.#ended) return
    if (this.#held.length + bytes.length > this.#maxBytes) this.#fail()
    else this.#held.append(bytes)
  }

  #fail(): void {
    this.#ended = true
    this.#held.clear()
    this.#overflow()
  }
}
