const NOTHING = Buffer.alloc(0)
const LEAST_ROOM = 1024
/** Room that stays when the bytes have gone. */
const KEPT_ROOM = 64 * 1024

/**
 * Bytes that come in pieces of any size, copied into one room that is doubled when it is full: pieces that are kept by
 * themselves cost a hundred times as much as the byte that each may hold.
 */
export class GrowingBytes {
  readonly #mostBytes: number
  #room: Buffer = NOTHING
  #length = 0

  /** More than `mostBytes` are taken too, but no room beyond that is kept ready. */
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

  /** All of them, without a copy: what is appended after `clear` overwrites it. */
  bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }

  clear(): void {
    if (this.#room.length > KEPT_ROOM) this.#room = NOTHING
    this.#length = 0
  }
}
