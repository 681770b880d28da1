import { isMainThread } from 'node:worker_threads'

/** Shorter texts are left to the garbage collector. */
const LARGE_BYTES = 64 * 1024
/** Resident memory of the process above which garbage is collected at once, which stops the thread for 40 to 100 ms. */
const PRESSING_BYTES = 352 * 1024 * 1024
const PRESSING_BYTES_MAIN = 416 * 1024 * 1024
/** A collection may take one part in this many of the thread's time. */
const TIME_SHARE = 4

/** Settings of a `GarbageWatch`. */
export interface GarbageWatchOptions {
  /** Bytes of large messages after which garbage is collected. */
  readonly periodBytes: number
  /** Default: {@link collectPressing}. */
  readonly collect?: () => void
}

/**
 * Collects garbage after so many bytes of large messages. By itself the runtime's collector lets a thread that passes
 * messages of 9 MiB grow by some 500 MiB: it counts objects, and these are few.
 */
export class GarbageWatch {
  readonly #periodBytes: number
  readonly #collect: () => void
  #passedBytes = 0
  #notBeforeMs = 0
  #due = false

  constructor({ periodBytes, collect = collectPressing }: GarbageWatchOptions) {
    this.#periodBytes = periodBytes
    this.#collect = collect
  }

  /** A message was received, made or sent. */
  message(bytes: number): void {
    if (bytes >= LARGE_BYTES) this.passed(bytes)
  }

  /** So many bytes were held for a time, in parts of any size. */
  passed(bytes: number): void {
    this.#passedBytes += bytes
    if (this.#passedBytes < this.#periodBytes || this.#due || performance.now() < this.#notBeforeMs) return
    this.#due = true
    // The current code still holds what it has just allocated.
    setImmediate(() => this.#run())
  }

  #run(): void {
    const startedAtMs = performance.now()
    this.#collect()
    this.#due = false
    this.#passedBytes = 0
    const endedAtMs = performance.now()
    this.#notBeforeMs = endedAtMs + TIME_SHARE * (endedAtMs - startedAtMs)
  }
}

/** Collects in the background, or at once above the resident limit: on the main thread that blocks all requests. */
function collectPressing(): void {
  const pressing = isMainThread ? PRESSING_BYTES_MAIN : PRESSING_BYTES
  Bun.gc(process.memoryUsage.rss() > pressing)
}
