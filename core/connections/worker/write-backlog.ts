/** A program that reads its stdin more slowly than it is written. */
interface Unread {
  /** Ends the program's pipe; its unread bytes are dropped. */
  unread(bytes: number): void
}

/**
 * The bytes in this thread that programs of one owner have not read yet. Above the limit the program with the most
 * unread bytes is ended, so that others of the owner are not affected.
 */
export class WriteBacklog {
  readonly #most: number
  readonly #bytes = new Map<Unread, number>()
  #total = 0

  /** `most`: limit in bytes for all programs together. */
  constructor(most: number) {
    this.#most = most
  }

  /** Sets the unread bytes of one program. */
  set(program: Unread, bytes: number): void {
    this.#total += bytes - (this.#bytes.get(program) ?? 0)
    if (bytes === 0) this.#bytes.delete(program)
    else this.#bytes.set(program, bytes)
    while (this.#total > this.#most) this.#endLargest()
  }

  #endLargest(): void {
    let largest: Unread | undefined
    let most = 0
    for (const [program, bytes] of this.#bytes)
      if (bytes > most) {
        largest = program
        most = bytes
      }
    if (!largest) return
    this.set(largest, 0)
    largest.unread(most)
  }
}
