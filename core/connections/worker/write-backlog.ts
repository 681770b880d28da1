/** A program that does not read as quickly as it is written to. */
interface Unread {
  /** It is given up, and nothing waits for it any more. */
  unread(bytes: number): void
}

/**
 * What waits in this thread for the programs of one owner to read it. Where it is too much, the program goes for which most
 * waits: others of the same owner that read are not ended for its sake.
 */
export class WriteBacklog {
  readonly #most: number
  readonly #bytes = new Map<Unread, number>()
  #total = 0

  /** `most`: bytes of all programs together. */
  constructor(most: number) {
    this.#most = most
  }

  /** So much waits for this one now. */
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
