import { dlopen, type FFIFunction, FFIType, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { cLibraries } from '../config/c-library.ts'

/**
 * Requested size of each connection's receive buffer in the system; Linux doubles it for its own overhead. By default
 * it grows to megabytes (`tcp_rmem`), and all buffered data of all connections is read in one turn.
 */
export const RECEIVE_BUFFER_BYTES = 128 * 1024

/**
 * Size of the send buffer, which grows to `tcp_wmem` by default: the part of an unread answer that it holds is charged to no
 * account.
 */
export const SEND_BUFFER_BYTES = 256 * 1024

const SOL_SOCKET = 1
const SO_SNDBUF = 7
const SO_RCVBUF = 8
const LISTEN = '0A'

const SYMBOLS = {
  setsockopt: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
} as const

/**
 * Limits the buffers of every connection accepted at `port` from now on; they inherit the limits from the listening socket. Bun
 * has no option for that. Returns false if that is not possible: not on Linux, or without /proc.
 */
export function boundSocketBuffers(port: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    const { setsockopt } = openC(SYMBOLS)
    const set = (fd: number, option: number, bytes: number): boolean => {
      const value = new Int32Array([bytes])
      return setsockopt(fd, SOL_SOCKET, option, ptr(value), value.byteLength) === 0
    }
    const done = listeningAt(port).flatMap(fd => [
      set(fd, SO_RCVBUF, RECEIVE_BUFFER_BYTES),
      set(fd, SO_SNDBUF, SEND_BUFFER_BYTES),
    ])
    return done.length > 0 && done.every(Boolean)
  } catch {
    // /proc is hidden, or the C library cannot be called: connections then have the system's default buffers.
    return false
  }
}

/** Functions of the C library. Throws if it cannot be loaded. */
export function openC<const Functions extends Record<string, FFIFunction>>(functions: Functions) {
  const [glibc = '', musl = ''] = cLibraries()
  try {
    return dlopen(glibc, functions).symbols
  } catch {
    return dlopen(musl, functions).symbols
  }
}

/** Descriptors of this process that listen at a TCP port. */
export function listeningAt(port: number): number[] {
  const sockets = new Set(['tcp', 'tcp6'].flatMap(table => inodesListeningAt(port, `/proc/self/net/${table}`)))
  return readdirSync('/proc/self/fd').flatMap(fd => (sockets.has(linkOf(fd)) ? Number(fd) : []))
}

/** A row: `sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode`; addresses are `HEX:PORT`. */
function inodesListeningAt(port: number, table: string): string[] {
  const rows = readFileSync(table, 'latin1')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
  return rows.flatMap(([, local = '', , state, , , , , , inode]) =>
    state === LISTEN && Number.parseInt(local.split(':')[1] ?? '', 16) === port ? `socket:[${inode}]` : [],
  )
}

/** Target of a descriptor of this process, such as `socket:[4711]`; empty when it is closed. */
export function linkOf(fd: string | number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    // The descriptor by which the folder itself was read is closed already.
    return ''
  }
}
