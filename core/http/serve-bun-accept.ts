import { ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { ConnectionGate } from '../config/descriptor-reserve.ts'
import { linkOf, listeningAt, openC } from './serve-bun-buffers.ts'
import { IdleConnections, SYMBOLS } from './serve-bun-idle.ts'
import type { KeptBy } from './serve-bun-peer.ts'

const EPOLL_CTL_MOD = 3

/**
 * The gate of what listens at this port. `keptBy` says what keeps a connection, by its client's port; see {@link KeptConnections}.
 * Undefined where it cannot be made: not on Linux, or without /proc or the C library.
 */
export function connectionGate(
  port: number,
  keptBy: (peerPort: number) => KeptBy | undefined,
): ConnectionGate | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const c = openC(SYMBOLS)
    const polled = listeningAt(port).flatMap(pollOf)
    if (polled.length === 0) return undefined
    const idle = new IdleConnections(c, port, keptBy)
    // All of it runs in one turn of the main thread, which alone closes these descriptors.
    const change = (isOpen: boolean): boolean =>
      polled.every(({ epoll, fd, socket, events, data }) => {
        if (linkOf(fd) !== socket) return false
        return c.epoll_ctl(epoll, EPOLL_CTL_MOD, fd, ptr(epollEvent(isOpen ? events : 0, data))) === 0
      })
    return {
      close: () => change(false),
      open: () => void change(true),
      closeIdle: () => idle.close(),
    }
  } catch {
    return undefined
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
