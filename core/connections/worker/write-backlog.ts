/** A program that reads its stdin more slowly than it is written. */
interface Unread {
  /** Milliseconds for which it has read nothing of the waiting bytes; 0 when none wait. */
  stuckMs(): number
  /** Ends the program's pipe; its unread bytes are dropped. */
  unread(bytes: number): void
}

interface Largest {
  readonly program: Unread
  readonly bytes: number
}

/**
 * Milliseconds after which a program counts as one that does not read. A program that reads slowly is never ended, since
 * anybody who may call it could then end everybody's calls; what does not fit is refused to its sender.
 */
export const UNREAD_MS = 5_000
/** Changes of the total that are reported, so that small ones cost nothing. */
const REPORTED_BYTES = 1024 * 1024

/** Options of a {@link WriteBacklog}. */
interface BacklogOptions {
  /** Called with the total and the largest part of it. */
  readonly report?: (bytes: number, largest: number) => void
  /** Default {@link UNREAD_MS}. */
  readonly unreadMs?: number
}

/**
 * The bytes in this thread that programs of one owner have not read yet. Above the limit the program with the most bytes among
 * those that read nothing is ended, so that others of the owner are not affected; when all programs read, further bytes are
 * refused. Main enforces the same limit over all threads.
 */
export class WriteBacklog {
  readonly #most: number
  readonly #report: (bytes: number, largest: number) => void
  readonly #unreadMs: number
  readonly #bytes = new Map<Unread, number>()
  #total = 0
  #reported = 0
  #later: ReturnType<typeof setTimeout> | undefined

  /** `most`: limit in bytes for all programs together. */
  constructor(most: number, { report = () => undefined, unreadMs = UNREAD_MS }: BacklogOptions = {}) {
    this.#most = most
    this.#report = report
    this.#unreadMs = unreadMs
  }

  /** Sets the unread bytes of one program. */
  set(program: Unread, bytes: number): void {
    this.#total += bytes - (this.#bytes.get(program) ?? 0)
    if (bytes === 0) this.#bytes.delete(program)
    else this.#bytes.set(program, bytes)
    const changed = Math.abs(this.#total - this.#reported)
    if (changed >= REPORTED_BYTES || (changed > 0 && this.#total === 0)) this.#reportNow()
  }

  /** True when `more` bytes may be written to the program. Ends programs that read nothing to make room, this one included. */
  makeRoom(program: Unread, more: number): boolean {
    const wanted = new Map(this.#bytes).set(program, (this.#bytes.get(program) ?? 0) + more)
    while (this.#total + more > this.#most) {
      const largest = largestOf(wanted, one => one.stuckMs() >= this.#unreadMs)
      if (!largest) return false
      this.#end(largest.program)
      if (largest.program === program) return false
      wanted.delete(largest.program)
    }
    return true
  }

  /** Ends the program with the most unread bytes, once it is clear that it reads nothing, unless it has fewer than `least`. */
  endLargest(least: number): void {
    const largest = largestOf(this.#bytes, () => true)
    const waitMs = largest && largest.bytes >= least ? this.#unreadMs - largest.program.stuckMs() : 0
    if (waitMs > 0) {
      clearTimeout(this.#later)
      this.#later = setTimeout(() => this.endLargest(least), waitMs)
      this.#later.unref()
      return
    }
    if (largest && largest.bytes >= least) this.#end(largest.program)
    this.#reportNow()
  }

  #reportNow(): void {
    this.#reported = this.#total
    this.#report(this.#total, largestOf(this.#bytes, () => true)?.bytes ?? 0)
  }

  #end(program: Unread): void {
    const bytes = this.#bytes.get(program) ?? 0
    this.set(program, 0)
    program.unread(bytes)
  }
}

function largestOf(all: ReadonlyMap<Unread, number>, counts: (program: Unread) => boolean): Largest | undefined {
  let largest: Largest | undefined
  for (const [program, bytes] of all) if (bytes > (largest?.bytes ?? 0) && counts(program)) largest = { program, bytes }
  return largest
}
