import { FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { ConnectionGate } from '../config/descriptor-reserve.ts'
import { listeningAt, openC } from './serve-bun-buffers.ts'

const { i32, ptr: pointer } = FFIType
const SYMBOLS = {
  epoll_ctl: { args: [i32, i32, i32, pointer], returns: i32 },
  getsockname: { args: [i32, pointer, pointer], returns: i32 },
  getpeername: { args: [i32, pointer, pointer], returns: i32 },
  getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
  shutdown: { args: [i32, i32], returns: i32 },
} as const

const EPOLL_CTL_MOD = 3
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

/**
 * The gate of what listens at this port. `staysOpen` says whether a connection, by its client's port, has a request that may be
 * silent for long. Undefined where it cannot be made: not on Linux, or without /proc or the C library.
 */
export function connectionGate(port: number, staysOpen: (peerPort: number) => boolean): ConnectionGate | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const c = openC(SYMBOLS)
    const polled = listeningAt(port).flatMap(pollOf)
    if (polled.length === 0) return undefined
    const change = (isOpen: boolean): boolean =>
      polled.every(({ epoll, fd, events, data }) => {
        return c.epoll_ctl(epoll, EPOLL_CTL_MOD, fd, ptr(epollEvent(isOpen ? events : 0, data))) === 0
      })
    return {
      close: () => change(false),
      open: () => void change(true),
      closeIdle() {
        for (const fd of readdirSync('/proc/self/fd').map(Number)) {
          if (portOf(c.getsockname, fd) !== port || isListening(c, fd)) continue
          // The runtime then closes it as if the client had done so.
          if (isIdle(c, fd) && !staysOpen(portOf(c.getpeername, fd))) c.shutdown(fd, SHUT_RDWR)
        }
      },
    }
  } catch {
    return undefined
  }
}

type CSymbols = ReturnType<typeof openC<typeof SYMBOLS>>

interface Polled {
  readonly epoll: number
  readonly fd: number
  readonly events: number
  /** By which the runtime recognizes the descriptor. */
  readonly data: bigint
}

/** Where the runtime waits for this descriptor: lines of `fdinfo` such as `tfd: 5 events: 19 data: 2d112c29f60 …`. */
function pollOf(fd: number): Polled[] {
  return readdirSync('/proc/self/fd').flatMap(name => {
    try {
      if (!readlinkSync(`/proc/self/fd/${name}`).includes('[eventpoll]')) return []
      const found = new RegExp(`^tfd: +${fd} events: +([0-9a-f]+) data: +([0-9a-f]+)`, 'm')
      const [, events, data] = found.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'latin1')) ?? []
      if (events === undefined || data === undefined) return []
      return [{ epoll: Number(name), fd, events: Number.parseInt(events, 16), data: BigInt(`0x${data}`) }]
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

function portOf(nameOf: CSymbols['getsockname'], fd: number): number {
  const address = new DataView(new ArrayBuffer(ADDRESS_BYTES))
  const length = new Uint32Array([ADDRESS_BYTES])
  if (nameOf(fd, ptr(address), ptr(length)) !== 0 || !INET.has(address.getUint16(0, true))) return -1
  return address.getUint16(2, false)
}

function isListening({ getsockopt }: CSymbols, fd: number): boolean {
  const value = new Uint32Array(1)
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(new Uint32Array([4]))) !== 0 || value[0] !== 0
}

function isIdle({ getsockopt }: CSymbols, fd: number): boolean {
  const info = new DataView(new ArrayBuffer(INFO.size))
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, ptr(info), ptr(new Uint32Array([INFO.size]))) !== 0) return false
  const silentMs = Math.min(info.getUint32(INFO.lastDataReceived, true), info.getUint32(INFO.lastDataSent, true))
  return silentMs >= (info.getBigUint64(INFO.bytesReceived, true) === 0n ? IDLE_MS.unused : IDLE_MS.used)
}
