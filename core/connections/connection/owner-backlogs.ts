import type { ToWorker } from '../protocol.ts'

/** A thread with programs of an owner. */
interface Thread {
  control(message: ToWorker & { readonly type: 'end-largest' }): void
}

interface Backlog {
  readonly bytes: number
  readonly largest: number
}

/**
 * Counts the bytes that the programs of each owner have not read yet, over all threads. Above the limit the program with the
 * largest backlog is ended, whatever its thread. A thread reports changes of 1 MiB or more, so the true backlog may be 1 MiB
 * larger per thread.
 */
export class OwnerBacklogs {
  readonly #most: number
  readonly #byOwner = new Map<string, Map<Thread, Backlog>>()

  /** `most`: limit in bytes for all programs of one owner. */
  constructor(most: number) {
    this.#most = most
  }

  /** The programs of this owner in a thread have `bytes` unread bytes, and one of them has `largest`. */
  set(thread: Thread, owner: string, bytes: number, largest: number): void {
    const threads = this.#byOwner.get(owner) ?? new Map<Thread, Backlog>()
    this.#byOwner.set(owner, threads)
    if (bytes === 0) threads.delete(thread)
    else threads.set(thread, { bytes, largest })
    if (threads.size === 0) this.#byOwner.delete(owner)
    while (total(threads) > this.#most && endLargest(threads, owner)) {
      // Until the rest fits; each thread then reports what it has.
    }
  }

  /** The thread has ended, and its programs with it. */
  remove(thread: Thread): void {
    for (const [owner, threads] of this.#byOwner) {
      threads.delete(thread)
      if (threads.size === 0) this.#byOwner.delete(owner)
    }
  }
}

function total(threads: ReadonlyMap<Thread, Backlog>): number {
  let bytes = 0
  for (const backlog of threads.values()) bytes += backlog.bytes
  return bytes
}

/** False when no program is known that could be ended: those that are have been asked. */
function endLargest(threads: Map<Thread, Backlog>, owner: string): boolean {
  const [found] = [...threads].sort(([, one], [, other]) => other.largest - one.largest)
  if (!found || found[1].largest === 0) return false
  const [thread, { bytes, largest }] = found
  threads.set(thread, { bytes: bytes - largest, largest: 0 })
  thread.control({ type: 'end-largest', owner, least: largest })
  return true
}
