import { FFIType, ptr } from 'bun:ffi'
import { readdirSync } from 'node:fs'
import type { openC } from './serve-bun-buffers.ts'
import type { KeptConnections } from './serve-bun-peer.ts'

const { i32, ptr: pointer } = FFIType
/** Functions of the C library with which connections are inspected and closed, and accepting is stopped. */
export const SYMBOLS = {
  fcntl: { args: [i32, i32, i32], returns: i32 },
  dup3: { args: [i32, i32, i32], returns: i32 },
  epoll_ctl: { args: [i32, i32, i32, pointer], returns: i32 },
  getsockname: { args: [i32, pointer, pointer], returns: i32 },
  getpeername: { args: [i32, pointer, pointer], returns: i32 },
  getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
  shutdown: { args: [i32, i32], returns: i32 },
} as const

/** The loaded functions. */
export type CSymbols = ReturnType<typeof openC<typeof SYMBOLS>>

const SOL_SOCKET = 1
const SO_ACCEPTCONN = 30
const IPPROTO_TCP = 6
const TCP_INFO = 11
const SHUT_RDWR = 2
/** Bytes of `struct tcp_info`, and the places of its members, see linux/tcp.h. */
const INFO = { size: 256, lastDataSent: 44, lastDataReceived: 52, bytesReceived: 128 }
/** `struct sockaddr_in6`; the port has the same place in that of IPv4. */
const ADDRESS_BYTES = 28
const INET = new Set([2, 10])
/** A connection on which nothing was ever sent is idle after this time, any other after the longer one; in milliseconds. */
const IDLE_MS = { unused: 1_000, used: 5_000 }
/** Time for which a connection is observed, in milliseconds: one that waited to be accepted was silent meanwhile. */
const LOOKED_AT_MS = 500
/**
 * A client drips if it sent something, but less than this, between two observations, this many times in a row. A request arrives
 * in few pieces, and a large one in large pieces.
 */
const DRIP = { bytes: 128, times: 8 }

/** Findings of one sweep about a connection. */
interface Traffic {
  readonly bytesReceived: bigint
  readonly silentMs: number
}

/** Counts of one connection over several observations. */
interface Watched {
  readonly peerPort: number
  /** Time of the first observation (`performance.now()`). */
  readonly sinceMs: number
  bytesReceived: bigint
  drips: number
}

/** Finds the connections accepted at a port that keep a descriptor without need, and closes them. */
export class IdleConnections {
  readonly #c: CSymbols
  readonly #port: number
  readonly #kept: Pick<KeptConnections, 'at' | 'ofLargest'>
  /** Connections of the last observation, by descriptor. */
  #watched = new Map<number, Watched>()

  constructor(c: CSymbols, port: number, kept: Pick<KeptConnections, 'at' | 'ofLargest'>) {
    this.#c = c
    this.#port = port
    this.#kept = kept
  }

  /**
   * Closes connections that are silent, unless something keeps them, and those whose clients drip bytes. Call it several times a
   * second while descriptors are short. Does nothing if the list of descriptors cannot be read. `more`: number of connections
   * that are closed although they are kept, the latest ones of the client that keeps the most.
   */
  close(more: number): void {
    const watched = new Map<number, Watched>()
    const unlucky = new Set(more > 0 ? this.#kept.ofLargest().slice(-more) : [])
    for (const fd of openDescriptors()) {
      if (this.#portOf('getsockname', fd) !== this.#port || this.#isListening(fd)) continue
      const traffic = this.#trafficOf(fd)
      if (!traffic) continue
      const peerPort = this.#portOf('getpeername', fd)
      const before = this.#watched.get(fd)
      const now = next(before?.peerPort === peerPort ? before : undefined, peerPort, traffic)
      watched.set(fd, now)
      // The runtime then closes it as if the client had done so.
      if (unlucky.has(peerPort) || this.#isUseless(now, traffic)) this.#c.shutdown(fd, SHUT_RDWR)
    }
    this.#watched = watched
  }

  #isUseless({ peerPort, sinceMs, drips }: Watched, { bytesReceived, silentMs }: Traffic): boolean {
    if (performance.now() - sinceMs < LOOKED_AT_MS) return false
    if (bytesReceived === 0n) return silentMs >= IDLE_MS.unused
    const keptBy = this.#kept.at(peerPort)
    // The frames by which a WebSocket is kept alive are small.
    if (keptBy === 'socket') return false
    return drips >= DRIP.times || (keptBy === undefined && silentMs >= IDLE_MS.used)
  }

  #portOf(which: 'getsockname' | 'getpeername', fd: number): number {
    const address = new DataView(new ArrayBuffer(ADDRESS_BYTES))
    const length = new Uint32Array([ADDRESS_BYTES])
    if (this.#c[which](fd, ptr(address), ptr(length)) !== 0 || !INET.has(address.getUint16(0, true))) return -1
    return address.getUint16(2, false)
  }

  #isListening(fd: number): boolean {
    const value = new Uint32Array(1)
    const failed = this.#c.getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(new Uint32Array([4]))) !== 0
    return failed || value[0] !== 0
  }

  #trafficOf(fd: number): Traffic | undefined {
    const info = new DataView(new ArrayBuffer(INFO.size))
    const length = new Uint32Array([INFO.size])
    if (this.#c.getsockopt(fd, IPPROTO_TCP, TCP_INFO, ptr(info), ptr(length)) !== 0) return undefined
    // Linux before 4.1 does not count the bytes.
    if ((length[0] ?? 0) < INFO.bytesReceived + 8) return undefined
    const silentMs = Math.min(info.getUint32(INFO.lastDataReceived, true), info.getUint32(INFO.lastDataSent, true))
    return { silentMs, bytesReceived: info.getBigUint64(INFO.bytesReceived, true) }
  }
}

function next(before: Watched | undefined, peerPort: number, { bytesReceived }: Traffic): Watched {
  if (before === undefined) return { peerPort, sinceMs: performance.now(), bytesReceived, drips: 0 }
  const more = Number(bytesReceived - before.bytesReceived)
  const drips = more === 0 ? before.drips : more < DRIP.bytes ? before.drips + 1 : 0
  return { ...before, bytesReceived, drips }
}

function openDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number)
  } catch {
    // Reading it takes a descriptor.
    return []
  }
}
