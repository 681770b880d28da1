const NOTHING = Buffer.alloc(0)
const LEAST_ROOM = 1024
/** Room that stays for the next line. */
const KEPT_ROOM = 64 * 1024

/** What becomes of bytes: lines without their ends (`\n` or `\r\n`), decoded as UTF-8, however the bytes were cut. */
export class LineFramer {
  readonly #maxBytes: number
  readonly #line: (line: string) => void
  readonly #overflow: () => void
  /** The beginning of a line in its first `#heldBytes`; more room than that, so that bytes may come one by one. */
  #held: Buffer = NOTHING
  #heldBytes = 0
  #ended = false

  /** `overflow` is called once, for the first line beyond `maxBytes`; nothing is delivered after it. */
  constructor(options: { readonly maxBytes: number; line(line: string): void; overflow(): void }) {
    this.#maxBytes = options.maxBytes
    this.#line = line => options.line(line)
    this.#overflow = () => options.overflow()
  }

  /** Bytes of a line that has not ended yet. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  push(chunk: Buffer): void {
    if (this.#ended) return
    const last = chunk.lastIndexOf(10)
    if (last === -1) {
      this.#hold(chunk)
      return
    }
    let start = 0
    if (this.#heldBytes > 0) {
      const first = chunk.indexOf(10)
      if (this.#heldBytes + first > this.#maxBytes) {
        this.#fail()
        return
      }
      this.#append(chunk.subarray(0, first))
      const line = this.#held.toString('utf8', 0, this.#heldBytes)
      this.#forget()
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
    if (this.#heldBytes + bytes.length > this.#maxBytes) this.#fail()
    else this.#append(bytes)
  }

  /** Copied: a view would keep the whole chunk, and the socket may use its buffer again. */
  #append(bytes: Buffer): void {
    const wanted = this.#heldBytes + bytes.length
    if (wanted > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(wanted, Math.min(2 * wanted, this.#maxBytes), LEAST_ROOM))
      larger.set(this.#held.subarray(0, this.#heldBytes))
      this.#held = larger
    }
    this.#held.set(bytes, this.#heldBytes)
    this.#heldBytes = wanted
  }

  #forget(): void {
    if (this.#held.length > KEPT_ROOM) this.#held = NOTHING
    this.#heldBytes = 0
  }

  #fail(): void {
    this.#ended = true
    this.#held = NOTHING
    this.#heldBytes = 0
    this.#overflow()
  }
}
