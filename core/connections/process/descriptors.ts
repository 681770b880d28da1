import { dlopen, FFIType, ptr } from 'bun:ffi'
import { closeSync, fstatSync, writeSync } from 'node:fs'
import { cLibraries } from '../../config/c-library.ts'
import { descriptorLimit, freeDescriptors } from '../../config/descriptor-reserve.ts'

/** Two connected ends of a Unix socket. */
export interface SocketPair {
  readonly ours: number
  readonly theirs: number
}

/** Makes one socket pair; throws when the process has no descriptors left. */
export type MakePair = () => SocketPair

const AF_UNIX = 1
const SOCK_STREAM = 1
const LINUX_SOCK_CLOEXEC = 0o2000000

const SYMBOLS = {
  socketpair: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
} as const

/**
 * Returns a function that makes socket pairs, or undefined when the C library cannot be called; children then use main's pipes.
 * The ends close on exec. macOS has no flag for that; there Bun starts programs with all other descriptors closed.
 */
export function openSocketPairs(): MakePair | undefined {
  for (const name of cLibraries()) {
    try {
      const { symbols } = dlopen(name, SYMBOLS)
      const type = process.platform === 'darwin' ? SOCK_STREAM : SOCK_STREAM | LINUX_SOCK_CLOEXEC
      const make = (): SocketPair => {
        const ends = new Int32Array(2)
        // The usual failure is that the process has no descriptors left.
        if (symbols.socketpair(AF_UNIX, type, 0, ptr(ends)) !== 0)
          throw new Error('EMFILE: no socket pair could be made')
        return { ours: ends[0]!, theirs: ends[1]! }
      }
      const probe = make()
      closeSync(probe.ours)
      closeSync(probe.theirs)
      return make
    } catch {
      // The next name; if none loads, the caller uses pipes.
    }
  }
  return undefined
}

/** Makes `count` pairs or none: after a failure those made before are closed. */
export function makePairs(make: MakePair, count: number): readonly SocketPair[] {
  const made: SocketPair[] = []
  try {
    while (made.length < count) made.push(make())
    return made
  } catch (error) {
    for (const { ours, theirs } of made) {
      closeSync(ours)
      closeSync(theirs)
    }
    throw error
  }
}

/** A descriptor that is passed to another thread, identified even after its number was reused. */
export class TravellingDescriptor {
  readonly number: number
  readonly #inode: number

  constructor(number: number) {
    this.number = number
    this.#inode = fstatSync(number).ino
  }

  /** Closes it if the number still refers to this socket: the thread may have closed it, and the number be reused. */
  closeIfOurs(): void {
    try {
      if (fstatSync(this.number).ino === this.#inode) closeSync(this.number)
    } catch {
      // Closed already.
    }
  }
}

/** Writes everything to a descriptor and closes it; a closed reader is ignored. */
function handOver(fd: number, bytes: Uint8Array): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
  } catch {
    // The program ended before it read: its exit says why.
  } finally {
    closeSync(fd)
  }
}

/** Writes each input to the pair at the same position, and closes the hub's end of every pair. */
export function handOverAll(pairs: readonly SocketPair[], inputs: readonly Uint8Array[]): void {
  for (const [index, pair] of pairs.entries()) handOver(pair.ours, inputs[index] ?? new Uint8Array())
}

/** Reserved for the store, the log and the hub's own clients, however many servers want. */
const KEPT_BACK = 32
/** Most descriptors that one start needs at the same time. */
const ONE_START = 14

/**
 * An error text when another child would take descriptors that the hub reserves for itself; otherwise undefined. `free`: how many
 * are free, those included that the hub holds; by default what the system counts.
 */
export function descriptorShortage(free = freeDescriptors()): string | undefined {
  if (free === undefined || free >= KEPT_BACK + ONE_START) return undefined
  return `EMFILE: of ${descriptorLimit()} file descriptors ${Math.max(0, free)} are left, and the hub keeps ${KEPT_BACK} for itself; raise the limit (ulimit -n)`
}
