import { edenGC } from 'bun:jsc'
import { isMainThread } from 'node:worker_threads'

/** Shorter texts are left to the garbage collector. */
const LARGE_BYTES = 64 * 1024
/** Resident memory of the process above which garbage is collected at once, which stops the thread for 40 to 100 ms. */
const PRESSING_BYTES = 352 * 1024 * 1024
const PRESSING_BYTES_MAIN = 500 * 1024 * 1024
/**
 * Bytes by which memory must have grown since the last such collection before the next one: a large hub uses more by itself.
 */
const ROOM_BYTES = 96 * 1024 * 1024
/** A collection may take one part in this many of the thread's time. */
const TIME_SHARE = 4

/** Settings of a `GarbageWatch`. */
export interface GarbageWatchOptions {
  /** Bytes of large messages after which garbage is collected. */
  readonly periodBytes: number
  /** Default: collects new objects, and all objects when memory is short. */
  readonly collect?: () => void
}

/**
 * Collects garbage after a number of bytes of large messages. By itself the runtime's collector lets a thread that passes
 * messages of 9 MiB grow by some 500 MiB: it counts objects, and these are few.
 */
export class GarbageWatch {
  readonly #periodBytes: number
  readonly #collect: () => void
  #passedBytes = 0
  #notBeforeMs = 0
  #due = false
  #leftBytes = 0

  constructor({ periodBytes, collect = () => this.#collectPressing() }: GarbageWatchOptions) {
    this.#periodBytes = periodBytes
    this.#collect = collect
  }

  /** A message was received, made or sent. */
  message(bytes: number): void {
    if (bytes >= LARGE_BYTES) this.passed(bytes)
  }

  /** Counts bytes that were held for a time, in parts of any size. */
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

  /**
   * The main thread collects what is new, which takes 2 to 4 ms, and all when memory presses; a connection worker collects all, in the
   * background unless memory presses.
   */
  #collectPressing(): void {
    const residentBytes = process.memoryUsage.rss()
    if (!isMainThread) Bun.gc(residentBytes > PRESSING_BYTES)
    else if (residentBytes < Math.max(PRESSING_BYTES_MAIN, this.#leftBytes + ROOM_BYTES)) edenGC()
    else {
      Bun.gc(true)
      this.#leftBytes = process.memoryUsage.rss()
    }
  }
}
