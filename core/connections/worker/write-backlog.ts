/** A program that reads its stdin more slowly than it is written. */
interface Unread {
  /** Ends the program's pipe; its unread bytes are dropped. */
  unread(bytes: number): void
}

/** Changes of the total that are reported, so that small ones cost nothing. */
const REPORTED_BYTES = 1024 * 1024

/**
 * The bytes in this thread that programs of one owner have not read yet. Above the limit the program with the most
 * unread bytes is ended, so that others of the owner are not affected. Main holds the same limit over all threads.
 */
export class WriteBacklog {
  readonly #most: number
  readonly #report: (bytes: number, largest: number) => void
  readonly #bytes = new Map<Unread, number>()
  #total = 0
  #reported = 0

  /** `most`: limit in bytes for all programs together. `report`: called with the total and the largest part of it. */
  constructor(most: number, report: (bytes: number, largest: number) => void = () => undefined) {
    this.#most = most
    this.#report = report
  }

  /** Sets the unread bytes of one program. */
  set(program: Unread, bytes: number): void {
    this.#total += bytes - (this.#bytes.get(program) ?? 0)
    if (bytes === 0) this.#bytes.delete(program)
    else this.#bytes.set(program, bytes)
    while (this.#total > this.#most) this.#end(this.#largest())
    const changed = Math.abs(this.#total - this.#reported)
    if (changed >= REPORTED_BYTES || (changed > 0 && this.#total === 0)) this.#reportNow()
  }

  /** Ends the program with the most unread bytes, unless that has fewer than `least` by now. */
  endLargest(least: number): void {
    const largest = this.#largest()
    if (largest && largest.bytes >= least) this.#end(largest)
    this.#reportNow()
  }

  #reportNow(): void {
    this.#reported = this.#total
    this.#report(this.#total, this.#largest()?.bytes ?? 0)
  }

  #largest(): { readonly program: Unread; readonly bytes: number } | undefined {
    let largest: { readonly program: Unread; readonly bytes: number } | undefined
    for (const [program, bytes] of this.#bytes) if (bytes > (largest?.bytes ?? 0)) largest = { program, bytes }
    return largest
  }

  #end(largest: { readonly program: Unread; readonly bytes: number } | undefined): void {
    if (!largest) return
    this.set(largest.program, 0)
    largest.program.unread(largest.bytes)
  }
}
