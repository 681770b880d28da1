const NOTHING = Buffer.alloc(0)
const LEAST_ROOM = 1024
/** Buffer kept after `clear`, at most. */
const KEPT_ROOM = 64 * 1024

/**
 * Collects bytes from pieces of any size in one buffer that doubles when full: separate small pieces cost up to a
 * hundred times their size.
 */
export class GrowingBytes {
  readonly #mostBytes: number
  #room: Buffer = NOTHING
  #length = 0

  /** More than `mostBytes` are accepted, but no spare room beyond that is allocated. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get length(): number {
    return this.#length
  }

  append(bytes: Uint8Array): void {
    const wanted = this.#length + bytes.length
    if (wanted > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(wanted, Math.min(2 * wanted, this.#mostBytes), LEAST_ROOM))
      larger.set(this.#room.subarray(0, this.#length))
      this.#room = larger
    }
    this.#room.set(bytes, this.#length)
    this.#length = wanted
  }

  /** All bytes, without a copy: appending after `clear` overwrites them. */
  bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }

  clear(): void {
    if (this.#room.length > KEPT_ROOM) this.#room = NOTHING
    this.#length = 0
  }
}
