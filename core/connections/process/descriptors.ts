import { dlopen, FFIType, ptr } from 'bun:ffi'
import { closeSync, fstatSync, readdirSync, readFileSync, writeSync } from 'node:fs'

/** Two connected ends of a Unix socket. */
export interface SocketPair {
  readonly ours: number
  readonly theirs: number
}

export type MakePair = () => SocketPair

const AF_UNIX = 1
const SOCK_STREAM = 1
const LINUX_SOCK_CLOEXEC = 0o2000000

const SYMBOLS = {
  socketpair: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
} as const

/** Where the C library is, most common first: glibc, musl, macOS. */
function libraries(): readonly string[] {
  if (process.platform === 'darwin') return ['libSystem.B.dylib']
  const musl = process.arch === 'arm64' ? 'libc.musl-aarch64.so.1' : 'libc.musl-x86_64.so.1'
  return ['libc.so.6', musl]
}

/**
 * How to make socket pairs here, or undefined when the C library cannot be called; children then go through main's
 * pipes. The ends close on exec. macOS has no flag for that; there Bun starts programs with all other descriptors closed.
 */
export function openSocketPairs(): MakePair | undefined {
  for (const name of libraries()) {
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
      // The next name; with none left the caller takes pipes.
    }
  }
  return undefined
}

/** So many pairs, or none: a failure closes those that were made. */
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

/** A descriptor on its way to another thread, recognisable after its number may have been used again. */
export class TravellingDescriptor {
  readonly number: number
  readonly #inode: number

  constructor(number: number) {
    this.number = number
    this.#inode = fstatSync(number).ino
  }

  /** Closes it, if the number still means this socket: the thread may have closed it, and somebody else got the number. */
  closeIfOurs(): void {
    try {
      if (fstatSync(this.number).ino === this.#inode) closeSync(this.number)
    } catch {
      // Closed already.
    }
  }
}

/** Writes everything to a descriptor and closes it. A reader that is gone is none of the writer's business. */
function handOver(fd: number, bytes: Uint8Array): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
  } catch {
    // The program ended before it read: its exit says why.
  } finally {
    closeSync(fd)
  }
}

/** Hands each of these to the pair at the same place, and closes what is the hub's of any pair. */
export function handOverAll(pairs: readonly SocketPair[], inputs: readonly Uint8Array[]): void {
  for (const [index, pair] of pairs.entries()) handOver(pair.ours, inputs[index] ?? new Uint8Array())
}

/** Kept back for the store, the log and the hub's own clients, whatever servers want. */
const KEPT_BACK = 32
/** Most that one start needs at the same time. */
const ONE_START = 14

/** What is wrong when another child would take the descriptors that the hub needs for itself; undefined when nothing is. */
export function descriptorShortage(): string | undefined {
  const limit = descriptorLimit()
  if (limit === undefined) return undefined
  const left = limit - readdirSync('/proc/self/fd').length
  if (left >= KEPT_BACK + ONE_START) return undefined
  return `EMFILE: of ${limit} file descriptors ${Math.max(0, left)} are left, and the hub keeps ${KEPT_BACK} for itself; raise the limit (ulimit -n)`
}

/** Undefined where there is none or the system does not say. Read each time: it can be changed from outside. */
function descriptorLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
