import { ptr } from 'bun:ffi'
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { ConnectionGate } from '../config/descriptor-reserve.ts'
import { linkOf, listeningAt, openC } from './serve-bun-buffers.ts'
import { type CSymbols, IdleConnections, SYMBOLS } from './serve-bun-idle.ts'
import type { KeptConnections } from './serve-bun-peer.ts'

const EPOLL_CTL_MOD = 3
/** No program of the hub inherits the socket. */
const F_DUPFD_CLOEXEC = 1030
const O_CLOEXEC = 0o2000000

/**
 * Returns the gate of the listening sockets of this port. `kept`: the clients' connections that are in use. Undefined if it
 * cannot be created: not on Linux, or without /proc or the C library.
 */
export function connectionGate(
  port: number,
  kept: Pick<KeptConnections, 'at' | 'ofLargest'>,
): ConnectionGate | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const c = openC(SYMBOLS)
    const listeners = listeningAt(port)
      .flatMap(pollOf)
      .map(polled => new Listener(c, polled))
    if (listeners.length === 0) return undefined
    const idle = new IdleConnections(c, port, kept)
    return {
      close: () => listeners.every(listener => listener.close()),
      open() {
        for (const listener of listeners) listener.open()
      },
      closeIdle: more => idle.close(more),
      dispose() {
        for (const listener of listeners) listener.dispose()
      },
    }
  } catch {
    return undefined
  }
}

/**
 * One listening socket. While it is closed, its descriptor refers to /dev/null: the runtime calls accept until it fails, even
 * for connections that it was notified of before. All of this runs in one turn of the main thread, and no other code closes
 * these descriptors.
 */
class Listener {
  readonly #c: CSymbols
  readonly #polled: Polled
  readonly #socket: number
  readonly #nothing: number
  #isOpen = true

  constructor(c: CSymbols, polled: Polled) {
    this.#c = c
    this.#polled = polled
    this.#socket = c.fcntl(polled.fd, F_DUPFD_CLOEXEC, 0)
    this.#nothing = openSync('/dev/null', 'r')
  }

  /** Closes the socket; false if that is not possible. */
  close(): boolean {
    const { fd, socket } = this.#polled
    if (!this.#isOpen) return true
    if (this.#socket < 0 || linkOf(fd) !== socket || !this.#watch(0)) return false
    this.#isOpen = this.#c.dup3(this.#nothing, fd, O_CLOEXEC) !== fd
    return true
  }

  open(): void {
    const { fd, events } = this.#polled
    if (!this.#isOpen && linkOf(fd) === '/dev/null') this.#isOpen = this.#c.dup3(this.#socket, fd, O_CLOEXEC) === fd
    if (this.#isOpen) this.#watch(events)
  }

  dispose(): void {
    this.open()
    if (this.#socket >= 0) closeSync(this.#socket)
    closeSync(this.#nothing)
  }

  #watch(events: number): boolean {
    const { epoll, fd, data } = this.#polled
    return this.#c.epoll_ctl(epoll, EPOLL_CTL_MOD, fd, ptr(epollEvent(events, data))) === 0
  }
}

interface Polled {
  readonly epoll: number
  readonly fd: number
  /** Target of the descriptor, such as `socket:[4711]`: the number alone may be reused. */
  readonly socket: string
  readonly events: number
  /** By which the runtime recognizes the descriptor. */
  readonly data: bigint
}

/** Entries of the runtime's epoll for this descriptor: lines of `fdinfo` such as `tfd: 5 events: 19 data: 2d112c29f60 …`. */
function pollOf(fd: number): Polled[] {
  const socket = linkOf(fd)
  return readdirSync('/proc/self/fd').flatMap(name => {
    try {
      if (!readlinkSync(`/proc/self/fd/${name}`).includes('[eventpoll]')) return []
      const found = new RegExp(`^tfd: +${fd} events: +([0-9a-f]+) data: +([0-9a-f]+)`, 'm')
      const [, events, data] = found.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1')) ?? []
      if (events === undefined || data === undefined) return []
      return [{ epoll: Number(name), fd, socket, events: Number.parseInt(events, 16), data: BigInt(`0x${data}`) }]
    } catch {
      // The descriptor by which the folder itself was read is closed already.
      return []
    }
  })
}

/** `struct epoll_event`, which is packed on x86-64 alone. */
function epollEvent(events: number, data: bigint): Uint8Array {
  const bytes = new Uint8Array(16)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, events, true)
  view.setBigUint64(process.arch === 'x64' ? 4 : 8, data, true)
  return bytes
}
